#include "ssh/reachable.hpp"

#include <algorithm>
#include <optional>

#include "base/clock.hpp"
#include "base/outcome.hpp"
#include "base/units.hpp"
#include "base/wait.hpp"

namespace fastgpu::ssh {
namespace {

using std::chrono::milliseconds;
using time_point = Clock::time_point;

/// Rounds a limit up to the number that the user knows: 9m59.9s is what is left of 10m.
milliseconds in_whole_seconds(milliseconds limit) {
  return limit < std::chrono::seconds(1) ? limit : std::chrono::ceil<std::chrono::seconds>(limit);
}

/// Calls the look of the options, unless the last call was a short time ago.
class Looking {
 public:
  explicit Looking(const ReachOptions& options)
      : options_(options), last_(std::chrono::steady_clock::now()) {}

  void look_if_due() {
    const time_point now = std::chrono::steady_clock::now();
    if (!options_.look || now - last_ < options_.look_every) return;
    last_ = now;
    options_.look();
  }

 private:
  const ReachOptions& options_;
  time_point last_;
};

class Waiting {
 public:
  Waiting(std::span<const Host> hosts, const ReachOptions& options)
      : hosts_(hosts), options_(options), results_(hosts.size()), last_failures_(hosts.size()) {
    const time_point now = std::chrono::steady_clock::now();
    until_ = now + options.limit;
    denied_until_ = now + std::min(options.denied_limit, options.limit);
  }

  bool done() const {
    return std::ranges::all_of(results_, [](const auto& result) { return result.has_value(); });
  }

  void try_all(Client& client, const Cancel& cancel) {
    std::vector<Task> tasks;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (results_[i]) continue;
      indices.push_back(i);
      tasks.push_back({.host = hosts_[i], .command = "true"});
    }
    const milliseconds rest = std::max(milliseconds(1), left());
    const auto outcomes =
        client.run(std::move(tasks), {.timeout = rest, .keeps_connections = true}, cancel);
    for (std::size_t i = 0; i < indices.size(); ++i)
      settle(indices[i], outcomes[i]);
  }

  milliseconds left() const {
    return std::chrono::ceil<milliseconds>(until_ - std::chrono::steady_clock::now());
  }

  std::vector<HostResult<Reachable>> take_results() {
    std::vector<HostResult<Reachable>> out;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      out.push_back({hosts_[i].name, *results_[i]});
    return out;
  }

 private:
  void settle(std::size_t index, const HostResult<Exit>& outcome) {
    if (outcome.ok()) {
      results_[index] = Reachable{};
      if (options_.on_reachable) options_.on_reachable(outcome.host);
      return;
    }
    const Error& e = outcome.error();
    const time_point now = std::chrono::steady_clock::now();
    const bool is_cut_off = e.kind() == ErrorKind::timeout && now >= until_;
    if (!is_cut_off || !last_failures_[index]) last_failures_[index] = e;
    const bool passing = e.kind() == ErrorKind::transient || e.kind() == ErrorKind::timeout ||
                         (e.kind() == ErrorKind::denied && now < denied_until_);
    if (!passing) {
      results_[index] = e;
    } else if (now >= until_) {
      results_[index] =
          Error(ErrorKind::timeout, std::string(last_failures_[index]->what()) + " (waited " +
                                        to_string(in_whole_seconds(options_.limit)) + ")");
    }
  }

  std::span<const Host> hosts_;
  const ReachOptions& options_;
  std::vector<std::optional<Outcome<Reachable>>> results_;
  std::vector<std::optional<Error>> last_failures_;
  time_point until_;
  time_point denied_until_;
};

}  // namespace

std::vector<HostResult<Reachable>> wait_until_reachable(Client& client, std::span<const Host> hosts,
                                                        const ReachOptions& options,
                                                        const Cancel& cancel) {
  Waiting waiting(hosts, options);
  Looking looking(options);
  milliseconds pause = options.first_pause;
  for (;;) {
    waiting.try_all(client, cancel);
    if (waiting.done()) return waiting.take_results();
    looking.look_if_due();
    wait_or_cancel(std::min(waiting.left(), pause), cancel);
    pause = std::min(pause * 2, options.last_pause);
  }
}

}  // namespace fastgpu::ssh
