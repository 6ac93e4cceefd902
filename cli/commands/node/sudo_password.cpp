#include "cli/commands/node/sudo_password.hpp"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cli/commands/shared/secret_file.hpp"

namespace fastgpu::cli {
namespace {

/// The maximum length of the input. sudo itself accepts 255 bytes, and rejects longer ones.
constexpr std::size_t kLongest = 4096;

/// Hides typed text on the terminal for its scope.
class WithoutEcho {
 public:
  WithoutEcho() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0)
      throw system_error("asking for sudo's password", errno);
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    silent.c_lflag |= ECHONL;
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  WithoutEcho(const WithoutEcho&) = delete;
  WithoutEcho& operator=(const WithoutEcho&) = delete;
  ~WithoutEcho() { ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_); }

 private:
  termios before_{};
};

/// Reads one line, without its end. Does not read beyond it.
std::string first_line(int fd, const Cancel& cancel) {
  std::string line;
  while (line.size() < kLongest) {
    std::array<pollfd, 2> fds{pollfd{fd, POLLIN, 0}, pollfd{cancel.fd(), POLLIN, 0}};
    const int ready = ::poll(fds.data(), fds.size(), -1);
    cancel.check();
    if (ready < 0) continue;
    char c = 0;
    const ssize_t count = ::read(fd, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error("reading sudo's password", errno);
    if (count == 0 || c == '\n') break;
    line += c;
  }
  return line;
}

std::string ask(Context& context) {
  Ui& ui = context.ui();
  if (!ui.terminal().in || !ui.terminal().err)
    throw Error(ErrorKind::usage,
                "--ask-sudo-password: there is no terminal to ask on; use --sudo-password-file to "
                "read it from a file");
  const WithoutEcho silence;
  ui.prompt("sudo's password on the nodes: ");
  return first_line(STDIN_FILENO, context.cancel());
}

std::string read_password(const std::string& path, const Cancel& cancel) {
  return first_line(open_secret_file("--sudo-password-file", path).get(), cancel);
}

}  // namespace

void describe_sudo_password(Arguments& arguments, SudoPasswordOptions& options) {
  arguments.flag("--ask-sudo-password", "Ask for the sudo password of the nodes", options.ask);
  shared(arguments.text("--sudo-password-file", "FILE",
                        "Read the sudo password from the first line of FILE (mode 0600)",
                        options.file))
      .values = Values::path;
}

std::optional<Secret> sudo_password(Context& context, const SudoPasswordOptions& options) {
  if (!options.ask && options.file.empty()) return std::nullopt;
  std::string password = options.ask ? ask(context) : read_password(options.file, context.cancel());
  if (password.empty()) throw Error(ErrorKind::usage, "sudo's password is empty");
  return Secret(std::move(password));
}

}  // namespace fastgpu::cli
