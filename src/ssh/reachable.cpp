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

class Waiting {
 public:
  Waiting(std::span<const Host> hosts, const ReachOptions& options)
      : hosts_(hosts), options_(options), results_(hosts.size()) {
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
    const bool passing = e.kind() == ErrorKind::transient || e.kind() == ErrorKind::timeout ||
                         (e.kind() == ErrorKind::denied && now < denied_until_);
    if (!passing) {
      results_[index] = e;
    } else if (now >= until_) {
      results_[index] = Error(ErrorKind::timeout, std::string(e.what()) + " (waited " +
                                                      to_string(options_.limit) + ")");
    }
  }

  std::span<const Host> hosts_;
  const ReachOptions& options_;
  std::vector<std::optional<Outcome<Reachable>>> results_;
  time_point until_;
  time_point denied_until_;
};

}  // namespace

std::vector<HostResult<Reachable>> wait_until_reachable(Client& client, std::span<const Host> hosts,
                                                        const ReachOptions& options,
                                                        const Cancel& cancel) {
  Waiting waiting(hosts, options);
  milliseconds pause = options.first_pause;
  for (;;) {
    waiting.try_all(client, cancel);
    if (waiting.done()) return waiting.take_results();
    wait_or_cancel(std::min(waiting.left(), pause), cancel);
    pause = std::min(pause * 2, options.last_pause);
  }
}

}  // namespace fastgpu::ssh
