// How collectives are timed, the same for every library: batches of calls between barriers, the
// median of several batches, of the slowest rank.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace fastgpu::comm::bench {

struct Settings {
  std::size_t least = 8;
  std::size_t most = 128 << 20;
  std::size_t factor = 4;
  std::string buffers = "private";  ///< Or "heap".
  std::string collective = "all_reduce";
};

/// --min, --max, --factor, --buffers, --collective.
inline Settings settings_of(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    const char* const value = arguments[i + 1];
    if (name == "--min") settings.least = std::strtoull(value, nullptr, 10);
    if (name == "--max") settings.most = std::strtoull(value, nullptr, 10);
    if (name == "--factor") settings.factor = std::strtoull(value, nullptr, 10);
    if (name == "--buffers") settings.buffers = value;
    if (name == "--collective") settings.collective = value;
  }
  settings.factor = std::max<std::size_t>(settings.factor, 2);
  return settings;
}

/// Seconds that one `call` takes on this rank. `barrier` lets all ranks begin a batch together.
template <class Call, class Barrier>
double median_seconds(std::size_t bytes, Call call, Barrier barrier) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kBatches = 7;
  const std::size_t calls = std::clamp<std::size_t>((std::size_t{64} << 20) / (bytes + 1), 4, 2000);
  std::array<double, kBatches> seconds{};
  for (std::size_t i = 0; i < std::min<std::size_t>(calls, 20); ++i)
    call();
  for (double& batch : seconds) {
    barrier();
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < calls; ++i)
      call();
    const std::chrono::duration<double> taken = Clock::now() - begin;
    batch = taken.count() / static_cast<double>(calls);
  }
  std::ranges::sort(seconds);
  return seconds[kBatches / 2];
}

inline void print_header(const std::string& library, int ranks, const Settings& settings) {
  std::printf("# %s, %d ranks, %s buffers, %s of float32\n", library.c_str(), ranks,
              settings.buffers.c_str(), settings.collective.c_str());
  std::printf("# %12s %12s %12s %12s\n", "bytes", "us", "algbw GB/s", "busbw GB/s");
}

/// Bandwidths as nccl-tests define them.
inline void print_line(std::size_t bytes, double seconds, int ranks,
                       const std::string& collective) {
  const double n = ranks;
  const double factor = collective == "all_reduce"  ? 2 * (n - 1) / n
                        : collective == "broadcast" ? 1
                                                    : (n - 1) / n;
  const double algbw = static_cast<double>(bytes) / seconds / 1e9;
  std::printf("  %12zu %12.2f %12.3f %12.3f\n", bytes, seconds * 1e6, algbw, algbw * factor);
  std::fflush(stdout);
}

}  // namespace fastgpu::comm::bench
