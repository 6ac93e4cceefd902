// The requirements of a gradient on this rank alone.
#pragma once

#include <cstddef>
#include <span>

#include "comm/fusion/gradient_table.hpp"
#include "comm/gpu/device.hpp"
#include "comm/gradients/gradient_settings.hpp"

namespace fastgpu::comm {

/// Throws ErrorKind::usage, naming the gradient, if it cannot be exchanged with these settings.
/// `values` are its memory, empty for one that is written to its view; `device` is null for memory
/// of the host.
void check_gradient(const GradientInfo& info, std::span<const std::byte> values,
                    const gpu::Device* device, const GradientSettings& settings);

}  // namespace fastgpu::comm
