#include "cli/commands/node/copy_meter.hpp"

#include <algorithm>

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kSettled{1'000};  // Before that, the rate means nothing.

std::string part_of(Bytes done, Bytes total) {
  // The stream is a little longer than the contents: it also has names, sizes and checksums.
  const std::uint64_t percent = total.count == 0 ? 100 : done.count * 100 / total.count;
  return std::to_string(std::min<std::uint64_t>(percent, 99)) + "% of " + to_string(total);
}

}  // namespace

std::string CopyMeter::figures(Bytes done, Clock::time_point now) {
  if (!first_) {
    first_ = done;
    began_ = now;
  }
  if (total_ && done >= *total_) return to_string(*total_) + " sent, waiting for the last node";
  std::string out = total_ ? part_of(done, *total_) : to_string(done);
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - began_);
  if (elapsed < kSettled || done <= *first_) return out;
  const double rate =
      static_cast<double>(done.count - first_->count) * 1e3 / static_cast<double>(elapsed.count());
  out += ", " + to_string(Bytes{static_cast<std::uint64_t>(rate)}) + "/s";
  if (!total_) return out;
  const double left = static_cast<double>(total_->count - done.count) / rate;
  const std::chrono::seconds seconds(static_cast<long>(std::min(left, 1e9)) + 1);
  return out + ", " + to_string(std::chrono::milliseconds(seconds)) + " left";
}

}  // namespace fastgpu::cli
