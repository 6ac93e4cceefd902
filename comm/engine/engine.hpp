// Runs programs over rails, many at once: the interpreter of schedules.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "comm/common/adaptive_wait.hpp"
#include "comm/engine/call_book.hpp"
#include "comm/engine/fork_guard.hpp"
#include "comm/engine/operation.hpp"
#include "comm/engine/wait_graph.hpp"
#include "comm/rendezvous/connections.hpp"
#include "comm/schedule/topology.hpp"
#include "comm/transports/mpi_rail.hpp"
#include "comm/transports/tcp_rail.hpp"

namespace fastgpu::comm {

/// What is to be said about a wait that lasts.
struct Reminder {
  std::chrono::steady_clock::time_point due;
  /// Called by the thread that waits once `due` has passed, which it moves on. May not call the
  /// engine.
  std::function<void()> remind;
};

/// Whoever waits drives the rails itself. While nobody waits and operations are under way that were
/// started to be waited for later, a thread of the engine's drives, and sleeps where nothing comes.
///
/// A failure of one operation breaks the engine: every rank is told, and every operation fails.
/// Thread-safe. In a child that was made by fork every call throws ErrorKind::usage, and an engine
/// is not destroyed.
class Engine final : private RailEvents, private Talk {
 public:
  explicit Engine(Connections connections);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Whether this process is a child of the rank.
  bool is_forked() const noexcept { return fork_guard_->is_child(); }
  /// Throws ErrorKind::usage if so.
  void check_forked() const;

  Rank rank() const noexcept { return self_; }
  const Topology& topology() const noexcept { return topology_; }
  bool shares_memory_with(Rank peer) const noexcept;
  RailCaps caps_of_network() const noexcept { return far_rail().caps(); }

  /// A communicator of this number has been made, whose calls are counted from `begin`.
  void expect_calls(std::uint32_t communicator, std::uint64_t begin);

  /// Begins, and moves what can be moved at once. Throws what broke the engine before.
  std::shared_ptr<Operation> start(Work work);

  /// Lets the engine's own thread drive from now on while nobody waits.
  void drive_in_background();

  bool test(Operation& operation);

  /// Throws what the operation failed with. `reminder` may be null.
  void wait(Operation& operation, Reminder* reminder = nullptr);

  /// Whether that rank has gone, as far as can be seen now.
  bool has_lost(Rank peer);

  /// What has broken the engine, or the loss of one of these ranks, as far as can be seen now.
  std::optional<Error> trouble_of(std::span<const Rank> ranks);

  std::chrono::milliseconds timeout() const noexcept { return timeout_; }

  /// Breaks the engine with a failure that was noticed elsewhere.
  void give_up(const Error& error);

  /// Memory that ranks of this host read directly where it is sent from. Throws
  /// ErrorKind::capacity.
  std::span<std::byte> allocate(std::size_t bytes);
  void free(const std::byte* memory);

  /// Connections to send over to each rank on another host.
  void use_flows(int flows);

 private:
  using Lock = std::unique_lock<std::mutex>;

  /// For the program's own threads, to whom the background thread gives way.
  Lock enter() const;

  void sent(Outgoing& message) override;
  void received(Incoming& message) override;
  void noted(Rank from, MessageTag tag, const Note& note) override;
  void lost(Rank peer, const Error& error) override;
  void asked_whether_waiting(Rank from, std::span<const std::byte> question) override;
  void answered_to_be_waiting(Rank from, std::span<const std::byte> answer) override;
  void said_farewell(Rank from, std::span<const std::byte> words) override;

  Rail& rail_to(Rank peer) const;
  Rail& far_rail() const noexcept;
  bool is_mpi_busy() const noexcept { return mpi_ && !mpi_->may_sleep(); }
  bool progress();
  bool settle();
  bool progress_wholes();
  void begin(Operation& operation);
  void begin_steps(Operation& operation);
  void begin_step(Operation& operation, StepIndex step);
  void check_lost();
  void hear_out_by_mpi(Rank peer);
  bool awaits(const Operation& operation, Rank peer) const;
  void watch_processes();
  void check_silence();
  void check_silence_of(Operation& operation);
  void check_reachable(std::chrono::steady_clock::time_point now);
  void warn_of_silence(Operation& operation, std::chrono::milliseconds silence);
  void look_for_dead_end(std::chrono::steady_clock::time_point now);
  WaitReport report(std::uint64_t round) const;
  std::uint64_t moved() const;
  void ask(const std::vector<Rank>& ranks, std::uint64_t round);
  void ask_interpreter(Lock& lock);
  void give_warnings(Lock& lock);
  void accuse_whole(const Operation& operation) const;
  void ask_and_accuse(const Operation& operation, std::chrono::milliseconds silence);
  void fail(const Error& error) noexcept;
  void tell(const Error& error) noexcept;
  void sleep(Lock& lock, const Operation* awaited, std::chrono::milliseconds longest);
  void drive(const std::stop_token& stop);
  void keep_watch();
  void kick() const noexcept;
  void remove_done();

  Rank self_;
  std::chrono::milliseconds timeout_;
  std::chrono::milliseconds silence_;
  std::function<void(const std::string&)> warn_;
  Topology topology_;
  std::unique_ptr<SharedRail> shared_;
  std::unique_ptr<TcpRail> network_;
  std::unique_ptr<MpiRail> mpi_;  ///< Carries what goes to other hosts; null: `network_` does.
  CallBook calls_;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Operation>> active_;  ///< Shared with those who wait for them.
  std::vector<std::pair<Operation*, StepIndex>> finished_;  ///< Reported by rails.
  std::vector<std::optional<Error>> lost_;                  ///< By rank.
  std::vector<Rank> newly_lost_;
  std::optional<Error> trouble_;   ///< Reported by rails.
  bool is_trouble_known_ = false;  ///< To all ranks: one of them has told us.
  std::optional<Error> failure_;
  WaitGraph waits_;
  std::uint64_t finished_steps_ = 0;  ///< Of all operations.
  std::uint64_t seen_moved_ = 0;      ///< What moved() was when a silence was last looked at.
  std::chrono::steady_clock::time_point next_round_{};  ///< Of questions.
  std::chrono::milliseconds round_gap_{0};
  /// Since when a rank's host has acknowledged nothing, and when that was looked at last.
  struct Unacknowledged {
    std::chrono::steady_clock::time_point since{};
    std::chrono::steady_clock::time_point seen{};
  };
  std::map<Rank, Unacknowledged> unacknowledged_;
  std::vector<std::string> warnings_;  ///< To be given once no lock is held.
  std::set<Rank> asked_;               ///< Before one is accused, since something last moved.
  std::set<Rank> answered_;            ///< That they do.
  std::size_t over_network_ = 0;       ///< Messages on their way.
  std::size_t wholes_ = 0;             ///< Operations under way that are run as a whole.
  unsigned turns_ = 0;
  std::map<const std::byte*, std::unique_ptr<std::byte[]>> private_memory_;

  mutable std::atomic<int> entering_{0};
  SpinHabit spin_habit_;
  int waiters_ = 0;
  std::set<std::thread::id> waiting_threads_;  ///< That have ever waited.
  bool is_watched_ = false;                    ///< A thread sleeps until something comes.
  int sleepers_ = 0;                           ///< Waiters that sleep.
  std::condition_variable watch_ended_;
  std::condition_variable_any idle_;
  UniqueFd kick_;  ///< Wakes the thread that sleeps.
  std::optional<ForkGuard> fork_guard_;
  std::optional<std::jthread> driver_;
};

}  // namespace fastgpu::comm
