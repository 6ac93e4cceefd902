#include "agent/jobs/full_watch.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "agent/files/disk.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenRoomLooks{1'000};
/// Above this much room only a quota can be in the way, which is looked for less often.
constexpr unsigned long long kMuchRoom = 1ULL << 20U;
constexpr int kLooksForQuota = 10;

bool has_much_room(const std::filesystem::path& directory) noexcept {
  struct statvfs disk {};
  if (::statvfs(directory.c_str(), &disk) != 0) return true;
  return static_cast<unsigned long long>(disk.f_bavail) * disk.f_frsize >= kMuchRoom;
}

}  // namespace

int FullWatch::wait() const noexcept {
  const auto left = std::chrono::ceil<milliseconds>(next_ - SteadyClock::now());
  return static_cast<int>(std::clamp(left, milliseconds(0), kBetweenRoomLooks).count());
}

bool FullWatch::is_full() const noexcept try {
  return agent::is_full(directory_);
} catch (const std::exception&) {
  return false;
}

bool FullWatch::look() noexcept try {
  const auto now = SteadyClock::now();
  if (now < next_) return false;
  next_ = now + kBetweenRoomLooks;
  const bool is_due = looks_++ % kLooksForQuota == 0;
  const bool was_full =
      std::exchange(is_full_, (is_due || !has_much_room(directory_)) && agent::is_full(directory_));
  return is_full_ && !was_full;
} catch (const std::exception&) {
  return false;
}

}  // namespace fastgpu::agent
