// Handlers of Ctrl-C and similar signals: the first one asks for an orderly end, the second one
// ends the process at once.
#pragma once

#include <string>

#include "base/cancel.hpp"

namespace fastgpu::cli {

/// Installs the handlers. The first SIGINT, SIGTERM or SIGHUP requests `cancel`. The second one
/// writes one line to stderr, restores the modes of the terminal, and ends the process with status
/// 130. A SIGHUP that was ignored at the start (nohup) stays ignored. SIGPIPE becomes an error of
/// write(). A process may have only one such object.
class Signals {
 public:
  explicit Signals(Cancel& cancel);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Sets the sentence that the first signal shows: what it ends. "" shows nothing.
  void set_stop_notice(const std::string& sentence);
  /// Sets the sentence that the second signal shows: what is left behind, and which command removes
  /// it.
  void set_interrupt_hint(const std::string& sentence);
};

}  // namespace fastgpu::cli
