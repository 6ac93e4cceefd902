#include "cli/commands/shared/program_output.hpp"

#include <string>

#include "cli/program/app.hpp"

namespace fastgpu::cli {

void ProgramOutput::write(std::string_view bytes) {
  if (is_closed_ || failure_) return;
  try {
    context_.ui().program_output(bytes);
  } catch (const OutputClosed&) {
    is_closed_ = true;
    context_.cancel().request();
  } catch (const OutputFailed& e) {
    failure_ = e.kind();
    context_.ui().warn(std::string(e.what()) + ": the rest of the output is not written there");
  }
}

int ProgramOutput::exit_code_after(int code) const noexcept {
  return code == 0 && failure_ ? exit_code(*failure_) : code;
}

}  // namespace fastgpu::cli
