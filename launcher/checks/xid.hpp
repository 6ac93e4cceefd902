// The errors of GPUs that NVIDIA's driver reports by number (Xid).
#pragma once

#include <string>

namespace fastgpu::launcher {

/// Returns a driver's error for which the GPU itself is at fault, in words; empty for the errors of
/// programs.
std::string xid_text(int code);

/// Returns true if the GPU can be used as before.
bool is_harmless_xid(int code);

}  // namespace fastgpu::launcher
