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

/// What would change what uv and Python do.
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

/// What a program said, on one line: from its error on, and of that the end, which matters most.
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

Error failure_of(const std::vector<std::string>& argv, const process::Captured& done) {
  const std::string said = explanation(without_end(done.err.empty() ? done.out : done.err));
  const bool full =
      said.find("No space left") != said.npos || said.find("os error 28") != said.npos;
  const std::string name = std::filesystem::path(argv[0]).filename();
  return {full ? ErrorKind::capacity : ErrorKind::remote,
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
  return "";  // Another C library has no such program.
}

Uv::Uv(std::filesystem::path program, const std::filesystem::path& cache, const std::string& index,
       const std::vector<std::string>& more_indexes)
    : program_(std::move(program)), environment_(process::current_environment()) {
  std::erase_if(environment_, is_foreign);
  const auto set = [&](const std::string& name, const std::string& value) {
    process::set_variable(environment_, name + "=" + value);
  };
  set("UV_CACHE_DIR", cache.string());
  set("UV_NO_CONFIG", "1");
  set("UV_NO_PROGRESS", "1");
  set("UV_PYTHON_DOWNLOADS", "never");
  set("UV_PYTHON_PREFERENCE", "only-system");
  set("UV_PREVIEW_FEATURES", "pylock");
  // Not among the arguments: an address may hold a password.
  if (!index.empty()) set("UV_DEFAULT_INDEX", index);
  std::string more;
  for (const std::string& one : more_indexes)
    more += (more.empty() ? "" : " ") + one;
  if (!more.empty()) {
    set("UV_INDEX", more);
    set("UV_INDEX_STRATEGY", "unsafe-best-match");
  }
}

std::string Uv::run(const std::vector<std::string>& words, const Listener& listener) const {
  std::vector<std::string> argv = {program_.string()};
  argv.insert(argv.end(), words.begin(), words.end());
  return output_of(argv, environment_, listener);
}

std::string Uv::find_python(const std::string& wanted, const Listener& listener) const try {
  return without_end(run({"python", "find", "--no-project", "--system", wanted}, listener));
} catch (const Error& e) {
  if (e.kind() == ErrorKind::interrupted) throw;
  throw Error(ErrorKind::not_found,
              "there is no Python " + printable(wanted) +
                  " on this node: install it there, or give its archive as 'python' in env.yaml");
}

std::string Uv::version(const Listener& listener) const {
  const std::string said = without_end(run({"--version"}, listener));
  return said.substr(0, said.find(" ("));
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

std::string output_of(const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment, const Listener& listener) {
  process::Command command{.argv = argv};
  command.environment = environment;
  auto done = process::capture(std::move(command), {.limit = kMostOutput, .timeout = kLongestStep},
                               listener.gone());
  if (!done.status.ok()) throw failure_of(argv, done);
  return std::move(done.out);
}

}  // namespace fastgpu::agent
