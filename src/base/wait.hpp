// A wait that the user can end.
#pragma once

#include <chrono>

#include "base/cancel.hpp"

namespace fastgpu {

/// Waits for `duration`, at most 24 days, or until a stop is requested.
void wait_or_cancel(std::chrono::milliseconds duration, const Cancel& cancel) noexcept;

}  // namespace fastgpu
