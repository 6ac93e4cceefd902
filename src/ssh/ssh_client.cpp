#include "ssh/ssh_client.hpp"

#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <list>
#include <map>
#include <thread>

#include "ssh/login_limits.hpp"
#include "ssh/running_command.hpp"

namespace fastgpu::ssh {
namespace {

using time_point = Clock::time_point;

constexpr std::size_t kScratch = 64UL * 1024;
/// The maximum number of idle connections; each takes about 60 kB. The oldest ones are kept,
/// because hosts come in the same order again.
constexpr std::size_t kMostIdle = 512;

/// Returns how many sessions can be open at once. Each needs a descriptor, and some descriptors are
/// reserved for the rest of the process.
std::size_t most_sessions() {
  constexpr rlim_t kOthers = 64;
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known ? std::max(limit.rlim_cur, kOthers + 1) - kOthers : 4096;
}

/// Returns the number of descriptors that a session needs. OpenSSH's client needs pipes, files in
/// memory and more.
std::size_t descriptors_for(const Host& host) {
  return host.openssh ? 10 : 1;
}

int poll_timeout(time_point now, time_point wake) {
  using std::chrono::milliseconds;
  if (wake <= now) return 0;
  if (wake == time_point::max()) return -1;
  const auto rest = std::chrono::ceil<milliseconds>(wake - now);
  return static_cast<int>(std::min(rest, milliseconds(3'600'000)).count());
}

Timeouts timeouts_for(const RunOptions& options, Timeouts timeouts) {
  timeouts.connect = options.connect_timeout.value_or(timeouts.connect);
  return timeouts;
}

/// One call of Client::run.
class Run {
 public:
  Run(std::vector<Task> tasks, const RunOptions& options, const Timeouts& timeouts,
      Identities& identities, IdleConnections& idle, const Cancel& cancel)
      : tasks_(std::move(tasks)),
        options_(options),
        timeouts_(timeouts_for(options, timeouts)),
        identities_(identities),
        idle_(idle),
        cancel_(cancel),
        room_(most_sessions()),
        width_(std::min(static_cast<std::size_t>(std::max(options.width, 1)), room_)),
        results_(tasks_.size()),
        scratch_(kScratch) {
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      waiting_[first_hop(tasks_[i].host)].push_back(i);
  }

  std::vector<HostResult<Exit>> all() {
    while (finished_ < tasks_.size()) {
      if (!cancelled_ && cancel_.requested()) stop_all();
      start_more();
      if (flights_.empty()) break;  // The run was cancelled before the first task started.
      wait();
      step_ready();
    }
    std::vector<HostResult<Exit>> out;
    for (auto& result : results_)
      out.push_back(std::move(*result));
    return out;
  }

 private:
  struct Flight {
    Flight(std::size_t task_index, std::string where, const Task& task, const RunOptions& options,
           const Timeouts& timeouts, Identities& identities, IdleConnections& idle, time_point now)
        : index(task_index),
          hop(std::move(where)),
          command(task, options, timeouts, identities, idle, now) {}

    std::size_t index;
    std::string hop;
    RunningCommand command;
    bool logging_in = true;  // True while its login counts in logins_.
    bool ready = true;
  };

  void start_more() {
    const time_point now = std::chrono::steady_clock::now();
    for (auto hop = waiting_.begin(); hop != waiting_.end();) {
      auto& [where, queue] = *hop;
      while (!queue.empty() && flights_.size() < width_ &&
             logins_.has_room(where, tasks_[queue.front()].host)) {
        const std::size_t index = queue.front();
        const std::size_t wanted = descriptors_for(tasks_[index].host);
        if (!flights_.empty() && open_ + wanted > room_) return;
        queue.pop_front();
        logins_.begin(where, tasks_[index].host);
        open_ += wanted;
        while (open_ + idle_.size() > room_ && idle_.size() > 0)
          idle_.drop_one();
        flights_.emplace_back(index, where, tasks_[index], options_, timeouts_, identities_, idle_,
                              now);
      }
      hop = queue.empty() ? waiting_.erase(hop) : std::next(hop);
      if (flights_.size() >= width_) return;
    }
  }

  void wait() {
    const time_point now = std::chrono::steady_clock::now();
    time_point wake = time_point::max();
    polled_.clear();
    for (const Flight& flight : flights_) {
      polled_.push_back(flight.command.wanted());
      wake = std::min(wake, flight.command.wake_at());
    }
    polled_.push_back({cancelled_ ? -1 : cancel_.fd(), POLLIN, 0});
    polled_.push_back({options_.wake, POLLIN, 0});
    const int count = ::poll(polled_.data(), polled_.size(), poll_timeout(now, wake));
    const bool has_input = count > 0 && polled_.back().revents != 0;
    eventfd_t ignored = 0;
    if (has_input) ::eventfd_read(options_.wake, &ignored);
    const time_point after = std::chrono::steady_clock::now();
    std::size_t at = 0;
    for (Flight& flight : flights_) {
      const short events = count > 0 ? polled_[at].revents : short{0};
      flight.ready = has_input || events != 0 || flight.command.wake_at() <= after;
      ++at;
    }
  }

  void step_ready() {
    for (auto flight = flights_.begin(); flight != flights_.end();) {
      const time_point now = std::chrono::steady_clock::now();
      const bool ended = flight->ready && flight->command.step(now, scratch_);
      if (flight->logging_in && (ended || !flight->command.logging_in())) {
        flight->logging_in = false;
        logins_.end(flight->hop, tasks_[flight->index].host);
        if (!ended && options_.on_login) options_.on_login(flight->index);
      }
      if (ended) {
        const std::size_t index = flight->index;
        open_ -= descriptors_for(tasks_[index].host);
        HostResult<Exit> result = flight->command.take_result();
        if (options_.keeps_connections && idle_.size() < kMostIdle)
          if (auto connection = flight->command.take_connection())
            idle_.put(std::move(connection), now);
        flight = flights_.erase(flight);
        finish(index, std::move(result));
      } else {
        ++flight;
      }
    }
  }

  void finish(std::size_t index, HostResult<Exit> result) {
    ++finished_;
    results_[index] = std::move(result);
    if (options_.on_finished) options_.on_finished(index, *results_[index]);
  }

  void stop_all() {
    cancelled_ = true;
    const time_point now = std::chrono::steady_clock::now();
    for (Flight& flight : flights_)
      flight.command.wind_down(interrupted(tasks_[flight.index].host), now);
    for (const auto& [where, queue] : std::exchange(waiting_, {}))
      for (const std::size_t index : queue)
        finish(index, {tasks_[index].host.name, interrupted(tasks_[index].host)});
  }

  static Error interrupted(const Host& host) {
    return {ErrorKind::interrupted, place(host) + ": interrupted"};
  }

  std::vector<Task> tasks_;
  const RunOptions& options_;
  const Timeouts timeouts_;
  Identities& identities_;
  IdleConnections& idle_;
  const Cancel& cancel_;
  std::size_t room_;
  std::size_t width_;
  // The tasks that have not begun, by their first hop.
  std::map<std::string, std::list<std::size_t>> waiting_;
  LoginLimits logins_{logins_on_this_machine(std::thread::hardware_concurrency())};
  std::list<Flight> flights_;
  std::size_t open_ = 0;  // The number of descriptors of flights_.
  std::vector<pollfd> polled_;
  std::vector<std::optional<HostResult<Exit>>> results_;
  std::vector<char> scratch_;
  std::size_t finished_ = 0;
  bool cancelled_ = false;
};

}  // namespace

std::vector<HostResult<Exit>> SshClient::run(std::vector<Task> tasks, const RunOptions& options,
                                             const Cancel& cancel) {
  return Run(std::move(tasks), options, timeouts_, identities_, idle_, cancel).all();
}

}  // namespace fastgpu::ssh
