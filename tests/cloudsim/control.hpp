// The control page under /_control/: the books to read, and the world to change.
#pragma once

#include "cloudsim/dispatcher.hpp"

namespace fastgpu::cloudsim {

inline constexpr std::string_view kControlPath = "/_control/";

/// GET books, calls, violations; POST faults, stock, quota, prices, clock, advance, settings,
/// reclaim, boot_failure, shutdown, reset_calls. What it does not understand is a 400 that says
/// why.
Reply control(Simulation& simulation, const Request& request);

}  // namespace fastgpu::cloudsim
