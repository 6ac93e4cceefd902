// Notices a rank that does nothing: it writes no output, uses no processor, and its node has no
// traffic.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// What a rank has done by a moment. Each figure only grows, unless a process of the rank ends.
struct Activity {
  std::uint64_t output = 0;          ///< The bytes in its logs, without notices that it waits.
  std::chrono::milliseconds cpu{0};  ///< The processor time of all its processes.
  std::uint64_t traffic = 0;         ///< The bytes that its node has sent and received.
};

/// Decides how long a rank has been idle. Pure: the caller has the clock.
class IdleClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `limit` is the time after which an idle rank hangs.
  explicit IdleClock(std::chrono::milliseconds limit);

  /// Returns for how long the rank has been idle at `now`, by one more observation. A rank is
  /// active if it has written anything since the last observation, or has used a hundredth of a
  /// core, or its node has sent and received 20 KB a second, in a span of five seconds or of the
  /// limit if that is shorter. In less time one tick of the kernel's clock would be a hundredth.
  std::chrono::milliseconds observe(Time now, const Activity& seen);

 private:
  struct Observation {
    Time time{};
    Activity activity{};
  };
  std::chrono::milliseconds span_;
  /// The observations since the last activity. The span begins with the first one.
  std::deque<Observation> seen_;
  Time active_at_{};
};

/// Returns how many bytes of a piece of a log are more than notices of libfastgpu_comm that its
/// rank waits for another one. Such a rank does nothing. Pure.
std::uint64_t output_in(std::string_view piece);

/// Returns the processor time in the text of /proc/PID/stat, with that of ended children; absent
/// for any other text. `ticks` is the number of the kernel's ticks in a second. Pure.
std::optional<std::chrono::milliseconds> cpu_time_in(std::string_view stat, long ticks);

/// Returns the parent in the text of /proc/PID/stat; 0 for any other text. Pure.
pid_t parent_in(std::string_view stat);

/// Returns the bytes that all interfaces but the loopback have sent and received, from the text of
/// /proc/net/dev. Pure.
std::uint64_t traffic_in(std::string_view net_dev);

/// Returns the process and all of its descendants that live.
std::vector<pid_t> family_of(pid_t process);

/// Watches one rank. Keeps two files in the job's folder: STEM.pid with its process's id, and
/// STEM.idle while it is idle.
class IdleWatch {
 public:
  /// Watches the process `program`. A limit of 0 watches nothing.
  IdleWatch(std::chrono::milliseconds limit, const std::filesystem::path& stem,
            const std::vector<std::filesystem::path>& logs, pid_t program);
  ~IdleWatch();
  IdleWatch(const IdleWatch&) = delete;
  IdleWatch& operator=(const IdleWatch&) = delete;

  /// Returns for how many milliseconds poll() may wait; -1 for any time.
  int wait() const noexcept;
  /// Observes the rank if it is time to. Never throws.
  void look() noexcept;

 private:
  /// A log that may grow.
  struct Log {
    std::filesystem::path path;
    std::uint64_t size = 0;
    /// The bytes without notices.
    std::uint64_t output = 0;
  };

  void observe();
  Activity activity();
  static void look_at(Log& log);

  std::chrono::milliseconds limit_;
  std::chrono::milliseconds every_;
  std::filesystem::path mark_;
  std::filesystem::path id_file_;
  std::vector<Log> logs_;
  pid_t program_;
  IdleClock clock_;
  IdleClock::Time next_{};
  bool is_marked_ = false;
};

}  // namespace fastgpu::agent
