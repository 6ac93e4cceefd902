#include "cli/signals.hpp"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <list>

namespace fastgpu::cli {
namespace {

constexpr int kInterrupted = 130;
constexpr std::array kStopping = {SIGINT, SIGTERM, SIGHUP};

// What a handler may touch: lock-free atomics, and text that is never freed before the exit.
std::atomic<Cancel*> g_cancel{nullptr};
std::atomic<const std::string*> g_parting{nullptr};
static_assert(std::atomic<Cancel*>::is_always_lock_free);
/// As they were at the start: a session on a node may have changed them. Written before the
/// handlers are there.
termios g_modes{};
std::atomic<bool> g_has_modes{false};

void on_signal(int) noexcept {
  Cancel* const cancel = g_cancel.load();
  if (cancel == nullptr) return;
  if (!cancel->requested()) return cancel->request();
  const std::string* const words = g_parting.load();
  if (words != nullptr) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, words->data(), words->size());
  }
  // In the background we would be stopped for it.
  if (g_has_modes.load() && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp())
    ::tcsetattr(STDIN_FILENO, TCSANOW, &g_modes);
  ::_exit(kInterrupted);
}

}  // namespace

Signals::Signals(Cancel& cancel) {
  g_cancel.store(&cancel);
  set_parting_words(
      "left at once; what was under way is settled by the next command or: fastgpu gc");
  g_has_modes.store(::tcgetattr(STDIN_FILENO, &g_modes) == 0);
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : kStopping)
    sigaddset(&action.sa_mask, number);
  for (const int number : kStopping) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    // nohup is respected. An ignored SIGINT is not: scripts ignore it for what they start with &,
    // and a job there would otherwise outlive the Ctrl-C or kill -INT that was meant for it.
    if (number == SIGHUP && before.sa_handler == SIG_IGN) continue;
    ::sigaction(number, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // A write past the limit of a file's size fails with a reason.
}

Signals::~Signals() {
  g_cancel.store(nullptr);
}

void Signals::set_parting_words(const std::string& sentence) {
  static std::list<std::string> kept;  // A handler may be reading the one before.
  kept.push_back("\nfastgpu: " + sentence + "\n");
  g_parting.store(&kept.back());
}

}  // namespace fastgpu::cli
