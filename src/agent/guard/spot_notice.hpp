// A cloud's notice, on one of its machines, that it will take the machine back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fastgpu::agent {

/// A notice. Times are seconds since 1970; 0 if not announced.
struct SpotNotice {
  std::int64_t taken_back = 0;  ///< When the machine is taken back.
  std::int64_t at_risk = 0;     ///< When the cloud began to warn that this may happen soon.
};

/// Returns the first date and time in `text`, "2026-11-22T07:18:00Z" or "2026-11-22 07:18:00", as
/// seconds since 1970 in UTC; 0 without one. Pure.
std::int64_t time_in(std::string_view text);

/// Asks the service of the cloud ("aws", "alibaba", "tencent", "huawei") on this machine, at
/// `address` or, if that is empty, at the cloud's own address. Returns an empty notice if the
/// service does not answer.
SpotNotice spot_notice(std::string_view cloud, std::string_view address);

}  // namespace fastgpu::agent
