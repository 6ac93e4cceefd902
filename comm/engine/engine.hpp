// Runs programs over transports, many at once: the interpreter of schedules.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/common/adaptive_wait.hpp"
#include "comm/engine/call_book.hpp"
#include "comm/engine/fork_guard.hpp"
#include "comm/engine/operation.hpp"
#include "comm/engine/private_heap.hpp"
#include "comm/engine/stall_detector.hpp"
#include "comm/schedule/topology.hpp"
#include "comm/transports/control_channel.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

struct Connections;

/// A function to be called during a wait that lasts.
struct Reminder {
  std::chrono::steady_clock::time_point due;
  /// Called by the thread that waits once `due` has passed, which it moves on. May not call the
  /// engine.
  std::function<void()> remind;
};

/// An engine over all transports of a job. A thread that waits drives the transports itself. While
/// no thread waits, and operations are under way that were started to be waited for later, a thread
/// of the engine drives, and sleeps where nothing comes.
///
/// A failure of one operation breaks the engine: every rank is notified, and every operation fails.
/// Thread-safe. In a child that was made by fork every call throws ErrorKind::usage, and an engine
/// is not destroyed.
class Engine final : private TransportEvents, private ControlEvents {
 public:
  explicit Engine(Connections connections);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Returns whether this process is a child of the rank.
  bool is_forked() const noexcept { return fork_guard_->is_child(); }
  /// Throws ErrorKind::usage if so.
  void check_forked() const;

  Rank rank() const noexcept { return self_; }
  const Topology& topology() const noexcept { return topology_; }

  /// Returns the number of connections that a message may be spread over, at most.
  int most_flows() const noexcept;

  /// Notes that a communicator of this number was made, whose calls are counted from `begin`.
  void expect_calls(std::uint32_t communicator, std::uint64_t begin);

  /// Begins, and moves what can be moved at once. Throws what broke the engine before.
  std::shared_ptr<Operation> start(Work work);

  /// Lets the engine's own thread drive from now on while no thread waits.
  void drive_in_background();

  bool test(Operation& operation);

  /// Throws the operation's failure. `reminder` may be null.
  void wait(Operation& operation, Reminder* reminder = nullptr);

  /// Returns whether that rank has gone, as far as can be seen now.
  bool has_lost(Rank peer);

  /// Returns the failure of the engine, or the loss of one of these ranks, as far as can be seen
  /// now.
  std::optional<Error> trouble_of(std::span<const Rank> ranks);

  std::chrono::milliseconds timeout() const noexcept { return timeout_; }

  /// Breaks the engine with a failure that was noticed elsewhere.
  void give_up(const Error& error);

  /// Returns memory from which a transport may read directly. Throws ErrorKind::capacity.
  std::span<std::byte> allocate(std::size_t bytes);
  void free(const std::byte* memory);

  /// Sets the number of connections to each rank over which messages are spread.
  void use_flows(int flows);

 private:
  using Lock = std::unique_lock<std::mutex>;

  /// A transport, and its messages that have begun and have not ended.
  struct Route {
    std::unique_ptr<Transport> transport;
    TransportCapabilities capabilities{};
    std::size_t under_way = 0;
  };

  void sent(Outgoing& message) override;
  void received(Incoming& message) override;
  void noted(Rank from, MessageTag tag, const Note& note) override;
  void lost(Rank peer, const Error& error) override;
  void closing(int descriptor) override;
  void on_question(Rank from, std::span<const std::byte> question) override;
  void on_answer(Rank from, std::span<const std::byte> answer) override;
  void on_abort(Rank from, std::span<const std::byte> reason) override;

  void choose_routes();
  void guard_descriptors();
  void free_everywhere(const std::byte* memory);
  Route& route_to(Rank peer) const { return *route_to_[static_cast<std::size_t>(peer.value)]; }
  std::optional<Error>& loss_of(Rank rank) { return lost_[static_cast<std::size_t>(rank.value)]; }

  // Running.
  void begin(Operation& operation);
  void begin_steps(Operation& operation);
  void begin_step(Operation& operation, StepIndex step);
  bool progress();
  bool progress(Route& route);
  bool progress_offloaded();
  bool settle();
  void settle_or_fail() noexcept;
  void check_lost();
  void drain(Transport& transport, Rank lost);
  bool awaits(const Operation& operation, Rank peer) const;
  void remove_done();
  void fail(const Error& error) noexcept;
  void send_abort(const Error& error) noexcept;

  // Waiting.
  /// Locks the engine for an application thread. The background thread yields to application
  /// threads.
  Lock enter() const;
  bool may_sleep();
  bool needs_progress() const;
  bool moves_only_when_called() const;
  bool is_blocked() const;
  void check_stalls() noexcept;
  void check_interpreter(Lock& lock);
  void give_warnings(Lock& lock);
  void sleep(Lock& lock, const Operation* awaited, std::chrono::milliseconds longest);
  void poll_unlocked(Lock& lock, const Operation* awaited, std::chrono::milliseconds longest);
  void drive(const std::stop_token& stop);
  void keep_watch();
  void kick() const noexcept;

  Rank self_;
  std::chrono::milliseconds timeout_;
  std::function<void(const std::string&)> warn_;
  Topology topology_;
  std::vector<Route> routes_;          ///< The routes, best first; their number does not change.
  std::vector<Route*> route_to_;       ///< The route to each rank.
  ControlChannel* control_ = nullptr;  ///< One of `routes_`.
  PrivateHeap private_heap_;
  Heap* heap_ = &private_heap_;
  CallBook calls_;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Operation>> active_;  ///< Shared with the threads that wait for them.
  std::vector<std::pair<Operation*, StepIndex>> finished_;  ///< Reported by transports.
  std::vector<std::optional<Error>> lost_;                  ///< The losses, by rank.
  std::vector<Rank> newly_lost_;
  std::optional<Error> trouble_;   ///< Reported by transports, or by another rank.
  bool is_trouble_known_ = false;  ///< All ranks know: one of them has notified this one.
  std::optional<Error> failure_;
  std::optional<StallDetector> stalls_;
  std::size_t offloaded_ = 0;  ///< Offloaded collectives under way.
  unsigned turns_ = 0;

  mutable std::atomic<int> entering_{0};
  SpinPolicy spin_policy_;
  int waiters_ = 0;
  std::set<std::thread::id> waiting_threads_;  ///< Threads that have ever waited.
  bool is_watched_ = false;                    ///< A thread sleeps until something comes.
  int sleepers_ = 0;                           ///< Waiters that sleep.
  std::condition_variable watch_ended_;
  std::condition_variable_any idle_;
  UniqueFd kick_;                  ///< Wakes the thread that sleeps.
  std::vector<pollfd> wake_ends_;  ///< `kick_`, and what transports are polled by.
  std::optional<ForkGuard> fork_guard_;
  std::optional<std::jthread> driver_;
};

}  // namespace fastgpu::comm
