// Ranges of addresses as clouds write them in the rules of security groups.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ip.hpp"

namespace fastgpu::provision::cloud {

/// Adds a range of a rule, unless it is there. Ignores a text that is not a range, because such a
/// rule is not ours.
inline void add_range(std::vector<IpRange>& ranges, const std::string& text) {
  try {
    const IpRange range = IpRange::parse(text);
    if (std::ranges::find(ranges, range) == ranges.end()) ranges.push_back(range);
  } catch (const Error&) {
    return;
  }
}

}  // namespace fastgpu::provision::cloud
