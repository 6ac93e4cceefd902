// The program: prepares the process, runs one command, and turns errors into exit codes.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/caught.hpp"
#include "base/utf8.hpp"
#include "cli/program/app.hpp"
#include "cli/program/signals.hpp"

namespace fastgpu::cli {
namespace {

/// Opens the descriptors 0 to 2 that are missing. Otherwise the next opened file would get such a
/// number. Nothing can be written to a standard output that was closed: a command that has
/// something to say there fails.
void open_missing_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
      const int made = ::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
      if (made >= 0 && made != fd) ::dup2(made, fd);
    }
}

/// Disables core dumps, because memory may have credentials and private keys in it. Child programs
/// may set another limit for themselves.
void leave_no_core() {
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = 0;
  ::setrlimit(RLIMIT_CORE, &limit);
}

/// Reads one line of standard input, without its line end. Throws ErrorKind::interrupted on a
/// cancel.
std::string read_line(const Cancel& cancel) {
  std::string line;
  for (char c = 0;;) {
    std::array<pollfd, 2> fds{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{cancel.fd(), POLLIN, 0}};
    const int ready = ::poll(fds.data(), fds.size(), -1);
    cancel.check();
    if (ready < 0) continue;
    const ssize_t count = ::read(STDIN_FILENO, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || c == '\n') return line;
    line += c;
  }
}

std::vector<std::string> names_of_variables() {
  std::vector<std::string> names;
  for (const char* const* entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

/// `job` is the id of the job that the error is about; empty for none.
void report(Ui& ui, const Error& error, std::optional<Format> document_format,
            const std::string& job = {}) {
  ui.fail(error.what());
  // Stdout has a document already, and only one may be there.
  if (!document_format || ui.has_answered()) return;
  Json root = document("error");
  root["error"]["kind"] = word_for(error.kind());
  root["error"]["message"] = error.what();
  if (!job.empty()) root["error"]["job"] = job;
  try {
    ui.set_format(*document_format);
    ui.show(View{.root = std::move(root)});
  } catch (const Error&) {  // The error is on stderr already.
  }
}

/// Runs the command. Turns every failure into a message and an exit code.
int guarded_run(const std::vector<std::string>& words, Context& context) {
  const auto format = [&] {
    return context.ui().wants_document() ? std::optional(context.ui().format())
                                         : wanted_document(words, context.environment());
  };
  try {
    return run_app(words, context);
  } catch (const OutputClosed&) {
    return 0;
  } catch (const Error& e) {
    report(context.ui(), e, format(), context.job());
    return exit_code(e.kind());
  } catch (const std::bad_alloc&) {
    report(context.ui(), {ErrorKind::capacity, "out of memory"}, format(), context.job());
    return exit_code(ErrorKind::capacity);
  } catch (const std::filesystem::filesystem_error& e) {
    const Error error = filesystem_failure(e);
    report(context.ui(), error, format(), context.job());
    return exit_code(error.kind());
  } catch (const std::exception& e) {
    report(context.ui(),
           {ErrorKind::internal, std::string("this is a bug in fastgpu: ") + e.what()}, format(),
           context.job());
    return exit_code(ErrorKind::internal);
  }
}

int run(const std::vector<std::string>& words) {
  Cancel cancel;
  Signals signals(cancel);
  FdSink out(STDOUT_FILENO, cancel);
  FdSink err(STDERR_FILENO, cancel);
  const state::Environment environment = state::process_environment();
  Ui ui(out, err, look_at_terminal(ColorChoice::automatic, environment),
        [&cancel] { return read_line(cancel); });
  ui.measure_by(measure_terminals);
  ui.keep_ticking();
  Context context(ui, cancel, environment, names_of_variables);
  context.on_interrupt_hint(
      [&signals](const std::string& words_left) { signals.set_interrupt_hint(words_left); });
  context.on_stop_notice(
      [&signals](const std::string& words_left) { signals.set_stop_notice(words_left); });
  int code = guarded_run(words, context);
  ui.end_progress();
  // The close may report a delayed ENOSPC.
  if (::close(STDOUT_FILENO) != 0 && errno != EBADF && code == 0) {
    const Error error = output_error(STDOUT_FILENO, errno);
    report(ui, error, std::nullopt);
    code = exit_code(error.kind());
  }
  return code;
}

}  // namespace
}  // namespace fastgpu::cli

int main(int argc, char** argv) try {
  fastgpu::cli::leave_no_core();
  fastgpu::cli::open_missing_descriptors();
  return fastgpu::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc});
} catch (const std::exception& e) {
  const std::string line = "error: " + fastgpu::escaped(e.what(), fastgpu::Layout::kept) + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  return 1;
}
