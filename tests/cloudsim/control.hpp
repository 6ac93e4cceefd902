// The control page under /_control/, by which tests read the records and change the world.
#pragma once

#include "cloudsim/dispatcher.hpp"

namespace fastgpu::cloudsim {

inline constexpr std::string_view kControlPath = "/_control/";

/// Handles a request to the control page. GET books, calls, violations; POST faults, stock, quota,
/// prices, clock, advance, settings, reclaim, boot_failure, shutdown, reset_calls. Answers any
/// other request with status 400 and the reason.
Reply control(Simulation& simulation, const Request& request);

}  // namespace fastgpu::cloudsim
