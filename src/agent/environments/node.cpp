#include "agent/environments/node.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <array>

#include "base/names.hpp"
#include "process/capture.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestStep = 6h;
constexpr Bytes kMostOutput{16 << 20};
constexpr std::size_t kMostSaid = 2000;

/// The variables that would change the behaviour of uv and Python.
constexpr std::array kForeign = {"UV_", "PIP_", "PYTHON", "VIRTUAL_ENV", "CONDA_"};

bool is_foreign(const std::string& assignment) {
  return std::ranges::any_of(kForeign,
                             [&](const char* start) { return assignment.starts_with(start); });
}

std::string without_end(std::string text) {
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

/// Returns a program's output on one line, from its error message on. If it is too long, the end is
/// kept, which matters most.
std::string explanation(const std::string& text) {
  constexpr std::string_view kError = "\nerror: ";
  const std::string lines = "\n" + text;
  const auto error = lines.find(kError);
  std::string out;
  for (const char c : error == std::string::npos ? text : lines.substr(error + kError.size())) {
    const bool blank = c == ' ' || c == '\n' || c == '\t';
    if (!blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  return out.size() <= kMostSaid ? out : "..." + out.substr(out.size() - kMostSaid);
}

ErrorKind kind_of(std::string_view said) {
  const auto says = [said](std::string_view words) { return said.find(words) != said.npos; };
  if (says("No space left") || says("os error 28")) return ErrorKind::capacity;
  return says("timed out") ? ErrorKind::timeout : ErrorKind::remote;
}

Error failure_of(const BuilderProgram& program, const process::Captured& done) {
  const std::string said = explanation(without_end(done.err.empty() ? done.out : done.err));
  const std::string name = program.name.empty()
                               ? std::filesystem::path(program.argv[0]).filename().string()
                               : program.name;
  return {kind_of(said),
          name + " " + process::describe(done.status) + (said.empty() ? "" : ": " + said)};
}

}  // namespace

std::string machine_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "";
}

std::string libc_name() try {
  const Cancel never;
  const auto done = process::capture({.argv = {"getconf", "GNU_LIBC_VERSION"}}, {}, never);
  return done.status.ok() ? without_end(done.out) : "";
} catch (const Error&) {
  return "";  // Systems with another C library do not have this program.
}

std::vector<std::string> plain_environment() {
  auto environment = process::current_environment();
  std::erase_if(environment, is_foreign);
  return environment;
}

std::vector<std::string> builder_environment(const BuilderChoice& choice) {
  auto environment = plain_environment();
  if (choice.proxy.reveal().empty()) return environment;
  for (const char* name : {"no_proxy", "NO_PROXY"})
    process::set_variable(environment, std::string(name) + "=");
  for (const char* name :
       {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
    process::set_variable(environment, std::string(name) + "=" + choice.proxy.reveal());
  return environment;
}

std::string python_version(const std::string& interpreter) {
  const Cancel never;
  const auto done = process::capture(
      {.argv = {interpreter, "-I", "-c", "import platform; print(platform.python_version())"}}, {},
      never);
  if (!done.status.ok())
    throw Error(ErrorKind::remote, interpreter + " " + process::describe(done.status) +
                                       ", where its version was asked for");
  return without_end(done.out);
}

std::string output_of(const BuilderProgram& program, const Listener& listener) {
  process::Command command{.argv = program.argv};
  command.environment = program.environment;
  command.on_parent_death = program.on_parent_death;
  auto done = process::capture(
      std::move(command), {.input = program.input, .limit = kMostOutput, .timeout = kLongestStep},
      listener.gone());
  if (!done.status.ok()) throw failure_of(program, done);
  return std::move(done.out);
}

void copy_tree(const std::filesystem::path& from, const std::filesystem::path& to,
               const Listener& listener) {
  // std::filesystem::copy reports a full disk as an I/O error.
  output_of({.argv = {"cp", "-R", "-P", (from / ".").string(), to.string()},
             .environment = plain_environment()},
            listener);
}

}  // namespace fastgpu::agent
