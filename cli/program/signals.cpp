#include "cli/program/signals.hpp"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <list>
#include <string>

#include "base/utf8.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kInterrupted = 130;
constexpr std::array kStopping = {SIGINT, SIGTERM, SIGHUP};

// The objects that a signal handler uses: lock-free atomics, and text that is never freed.
std::atomic<Cancel*> g_cancel{nullptr};
std::atomic<const std::string*> g_stopping{nullptr};
std::atomic<const std::string*> g_parting{nullptr};
static_assert(std::atomic<Cancel*>::is_always_lock_free);
/// The modes of the terminal at the start. A session on a node may change them. They are written
/// before the handlers are installed.
termios g_modes{};
std::atomic<bool> g_has_modes{false};

void write_line(const std::string* line) noexcept {
  if (line == nullptr) return;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line->data(), line->size());
}

/// Returns `sentence` as an output line that is never freed, because a handler may be reading it.
const std::string* kept_line(const std::string& sentence) {
  static std::list<std::string> kept;
  // A terminal has just shown "^C" on this line.
  const char* const line_break = ::isatty(STDERR_FILENO) == 1 ? "\n" : "";
  kept.push_back(std::string(line_break) + "fastgpu: " + escaped(sentence, Layout::kept) + "\n");
  return &kept.back();
}

void on_signal(int) noexcept {
  Cancel* const cancel = g_cancel.load();
  if (cancel == nullptr) return;
  if (!cancel->requested()) {
    write_line(g_stopping.load());
    return cancel->request();
  }
  write_line(g_parting.load());
  // In the background this call would stop the process.
  if (g_has_modes.load() && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp())
    ::tcsetattr(STDIN_FILENO, TCSANOW, &g_modes);
  ::_exit(kInterrupted);
}

}  // namespace

Signals::Signals(Cancel& cancel) {
  g_cancel.store(&cancel);
  set_interrupt_hint(
      "stopped at once; the next command settles interrupted steps, and so does: fastgpu gc");
  g_has_modes.store(::tcgetattr(STDIN_FILENO, &g_modes) == 0);
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : kStopping)
    sigaddset(&action.sa_mask, number);
  for (const int number : kStopping) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    // An ignored SIGHUP (nohup) stays ignored, but an ignored SIGINT does not: scripts ignore it
    // for programs that they start with &. Without a handler such a program would survive a Ctrl-C
    // or kill -INT.
    if (number == SIGHUP && before.sa_handler == SIG_IGN) continue;
    ::sigaction(number, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // A write beyond the limit on file sizes then fails with EFBIG.
}

Signals::~Signals() {
  g_cancel.store(nullptr);
}

void Signals::set_stop_notice(const std::string& sentence) {
  g_stopping.store(sentence.empty() ? nullptr : kept_line(sentence));
}

void Signals::set_interrupt_hint(const std::string& sentence) {
  g_parting.store(kept_line(sentence));
}

}  // namespace fastgpu::cli
