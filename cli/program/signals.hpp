// Ctrl-C and its relatives: the first asks for an orderly end, the second ends at once.
#pragma once

#include <string>

#include "base/cancel.hpp"

namespace fastgpu::cli {

/// Handlers of signals. From construction on, the first SIGINT, SIGTERM or SIGHUP requests
/// `cancel`. A second one writes one line to stderr, restores the modes of the terminal and ends
/// the process with 130. A SIGHUP that was ignored at the start (nohup) stays ignored; SIGPIPE
/// becomes an error of write(). One object a process.
class Signals {
 public:
  explicit Signals(Cancel& cancel);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Sets what the first signal ends, in one sentence that is written at once; "" is nothing.
  void set_stop_notice(const std::string& sentence);
  /// Sets what a second signal leaves behind and which command removes it, in one sentence.
  void set_interrupt_hint(const std::string& sentence);
};

}  // namespace fastgpu::cli
