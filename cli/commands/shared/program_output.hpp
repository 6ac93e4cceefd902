// The output of programs on nodes, on its way to our standard output.
#pragma once

#include <optional>
#include <string_view>

#include "cli/program/context.hpp"
#include "cli/ui/sink.hpp"

namespace fastgpu::cli {

/// Writes to standard output. A program on a node does not fail with it: if its reader is gone, the
/// rest is dropped and the cancel of our program is requested; if it cannot be stored, the rest is
/// dropped with a warning.
class ProgramOutput final : public Sink {
 public:
  explicit ProgramOutput(Context& context) : context_(context) {}
  void write(std::string_view bytes) override;

  bool closed() const noexcept { return is_closed_; }
  /// Returns the exit code of a command that would end with `code`: another one in place of 0 if
  /// output could not be stored.
  int exit_code_after(int code) const noexcept;

 private:
  Context& context_;
  bool is_closed_ = false;
  std::optional<ErrorKind> failure_{};
};

}  // namespace fastgpu::cli
