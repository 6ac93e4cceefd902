#include "cli/commands/tool/codec_gain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fastgpu::cli {
namespace {

using comm::bench::BenchResult;

/// Returns the part of a step's time that the link does not explain.
double own_seconds(const BenchResult& result, double link) {
  return std::max(0.0, result.seconds - *result.network_bytes / link);
}

/// Returns true if a codec has sent what is sent without it: counts differ by a few messages.
bool sends_the_same(const BenchResult& plain, const BenchResult& codec) {
  constexpr double kMostDifference = 0.001;
  const double without = plain.network_bytes.value_or(0);
  return &plain != &codec && without > 0 &&
         std::abs(codec.network_bytes.value_or(0) - without) <= kMostDifference * without;
}

double pays_below(const BenchResult& plain, const BenchResult& codec, double link) {
  const double saved = *plain.network_bytes - *codec.network_bytes;
  if (saved <= 0) return 0;
  const double more = own_seconds(codec, link) - own_seconds(plain, link);
  return more <= 0 ? std::numeric_limits<double>::infinity() : saved / more;
}

}  // namespace

std::optional<double> link_speed(const std::vector<BenchResult>& results,
                                 const std::string& transport) {
  for (const BenchResult& result : results)
    if (!result.step && result.transport == transport && result.network_bytes.value_or(0) > 0)
      return *result.network_bytes / result.seconds;
  return std::nullopt;
}

std::vector<CodecGain> codec_gains(const std::vector<BenchResult>& results) {
  std::vector<CodecGain> gains;
  const BenchResult* plain = nullptr;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const BenchResult& result = results[i];
    if (result.codec.empty()) continue;
    if (result.codec == "same") plain = &result;
    if (plain == nullptr) continue;
    CodecGain gain{.result = i};
    if (!sends_the_same(*plain, result)) gain.speed_up = plain->seconds / result.seconds;
    const auto link = link_speed(results, result.transport);
    if (link && sends_the_same(*plain, result))
      gain.pays_below = 0;
    else if (link && &result != plain)
      gain.pays_below = pays_below(*plain, result, *link);
    gains.push_back(gain);
  }
  return gains;
}

}  // namespace fastgpu::cli
