// A cloud's notices on a machine about taking it back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fastgpu::agent {

/// A notice, in seconds since 1970; 0: not announced.
struct SpotNotice {
  std::int64_t taken_back = 0;  ///< When the machine goes.
  std::int64_t at_risk = 0;     ///< The start of the warning that it may go soon.
};

/// Returns the first date and time in `text`, "2026-11-22T07:18:00Z" or "2026-11-22 07:18:00", as
/// seconds since 1970, read as UTC; 0 if it is missing. Pure.
std::int64_t time_in(std::string_view text);

/// Queries the service of that cloud ("aws", "alibaba", "tencent", "huawei") on this machine, at
/// `address` or, if that is empty, at the cloud's own. Returns an empty notice without an answer.
SpotNotice spot_notice(std::string_view cloud, std::string_view address);

}  // namespace fastgpu::agent
