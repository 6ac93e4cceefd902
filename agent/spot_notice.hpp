// What a cloud says on a machine about taking it back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fastgpu::agent {

/// Seconds since 1970; 0: nothing was said.
struct SpotNotice {
  std::int64_t taken_back = 0;  ///< When the machine goes.
  std::int64_t at_risk = 0;     ///< Since when the cloud says that it may go soon.
};

/// The first date and time in `text`, "2026-11-22T07:18:00Z" or "2026-11-22 07:18:00", as seconds
/// since 1970 where it is meant in UTC; 0 where there is none. Pure.
std::int64_t time_in(std::string_view text);

/// Asks the service of that cloud ("aws", "alibaba", "tencent", "huawei") on this machine, at
/// `address` or, for an empty one, at the cloud's own. Says nothing where nobody answers.
SpotNotice spot_notice(std::string_view cloud, std::string_view address);

}  // namespace fastgpu::agent
