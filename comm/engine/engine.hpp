// The engine of a rank: the threads that wait for operations, and drive the transports meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/common/adaptive_wait.hpp"
#include "comm/common/biased_mutex.hpp"
#include "comm/engine/fork_guard.hpp"
#include "comm/engine/gathering.hpp"
#include "comm/engine/operation.hpp"
#include "comm/engine/runner.hpp"
#include "comm/engine/sleep_watch.hpp"
#include "comm/schedule/topology.hpp"

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
class Engine final : private RunnerEvents {
 public:
  explicit Engine(Connections connections);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Returns whether this process is a child of the rank.
  bool is_forked() const noexcept { return fork_guard_->is_child(); }
  /// Throws ErrorKind::usage if so.
  void check_forked() const {
    if (is_forked()) refuse_forked();
  }

  Rank rank() const noexcept { return self_; }
  const Topology& topology() const noexcept { return topology_; }

  /// Returns the number of connections that a message may be spread over, at most.
  int most_flows() const noexcept;

  /// Notes that a communicator of this number was made, whose calls are counted from `begin`.
  void expect_calls(std::uint32_t communicator, std::uint64_t begin);

  /// Makes a program ready to be run with elements of a type, directly if it can be.
  std::shared_ptr<const PreparedProgram> prepare(PreparedProgram program, ElementType type) const;

  /// Begins, and moves what can be moved at once. Throws what broke the engine before.
  std::shared_ptr<Operation> start(Work work);

  /// Move a message of few bytes within the call, on a lane of `message_lane`. Return false, with
  /// nothing done, if it is not possible at once: then it takes an operation.
  bool send_now(Outgoing& message);
  bool receive_now(Incoming& message);

  /// Begins, and waits until it is done. Throws what `start` and `wait` throw.
  void run(Work&& work, Reminder* reminder = nullptr);

  /// Runs a call. `make_work` returns it as a Work if it cannot be done at once.
  template <class MakeWork>
  void run(const DirectCall& call, MakeWork make_work, Reminder* reminder = nullptr) {
    Lock lock = enter();
    count_waiting_thread();
    const BegunCall begun = run_now(call);
    if (begun.is_done) return keep_watch();
    const auto operation = runner_.start(make_work(), begun);
    wait(lock, *operation, reminder);
  }

  /// Starts the engine's own thread unless it runs. Throws ErrorKind::local if a limit
  /// forbids it.
  void start_driver();
  /// Lets that thread drive from now on while no thread waits; starts it as `start_driver` does.
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

  /// Notes the rank without which a call would not have failed; the engine goes on.
  void blame(Rank culprit);

  /// Breaks the engine with a failure that was noticed elsewhere.
  void give_up(const Error& error);

  /// Returns memory from which a transport may read directly. Throws ErrorKind::capacity.
  std::span<std::byte> allocate(std::size_t bytes);
  void free(const std::byte* memory);

  /// Sets the number of connections to each rank over which messages are spread.
  void use_flows(int flows);

  /// Returns the counts of each network that this rank uses.
  std::vector<LinkCounters> links() const;

  /// Prepares memory of a GPU for a message with `peer`, until it is given back; false if it must
  /// pass through the host.
  bool take_device_memory(Rank peer, std::span<std::byte> memory);
  void give_back_device_memory(Rank peer, std::span<const std::byte> memory);
  /// Returns sentences on the way of memory of GPUs.
  std::string report_of_device_memory() const;

 private:
  [[noreturn]] void refuse_forked() const;
  using Lock = SleepWatch::Lock;

  void operations_ended() noexcept override;
  void descriptor_opened(int descriptor) override;
  void descriptor_closing(int descriptor) override;
  bool do_all_threads_wait() const override;

  /// Locks the engine for an application thread. The background thread yields to application
  /// threads.
  Lock enter() const;
  BegunCall run_now(const DirectCall& call);
  void wait(Lock& lock, Operation& operation, Reminder* reminder);
  bool pause(Lock& lock, AdaptiveWait& adaptive_wait);
  void count_waiting_thread();
  bool has_work() const;
  void check_interpreter(Lock& lock);
  void give_warnings(Lock& lock);
  void sleep(Lock& lock, const Operation* awaited, std::chrono::milliseconds longest);
  void drive(const std::stop_token& stop);
  void keep_watch();

  Rank self_;
  std::chrono::milliseconds timeout_;
  std::function<void(const std::string&)> warn_;
  SpinPolicy spin_policy_;
  Gathering gathering_;
  Topology topology_;

  mutable BiasedMutex mutex_;
  SleepWatch watch_;
  Runner runner_;

  mutable std::atomic<int> entering_{0};
  int waiters_ = 0;
  std::set<std::thread::id> waiting_threads_;  ///< Threads that have ever waited.
  const void* last_waiting_ = nullptr;         ///< One of them, by its thread pointer.
  std::condition_variable_any idle_;
  std::optional<ForkGuard> fork_guard_;
  std::atomic<bool> has_driver_{false};  ///< As `driver_` has a value: to be read without a lock.
  std::optional<std::jthread> driver_;
};

}  // namespace fastgpu::comm
