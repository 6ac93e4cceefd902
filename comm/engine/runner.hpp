// Runs operations over the transports, many at once, and ends them all where one fails.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/common/caused_error.hpp"
#include "comm/engine/call_book.hpp"
#include "comm/engine/direct_run.hpp"
#include "comm/engine/operation.hpp"
#include "comm/engine/operation_pool.hpp"
#include "comm/engine/routes.hpp"
#include "comm/engine/stall_detector.hpp"
#include "comm/transports/control_channel.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

struct Connections;

/// The engine as its runner knows it. Called with the engine's lock.
class RunnerEvents {
 public:
  virtual ~RunnerEvents() = default;

  /// Reports that operations have ended, which sleeping threads may wait for.
  virtual void operations_ended() noexcept = 0;

  /// Reports that a transport has one more descriptor.
  virtual void descriptor_opened(int descriptor) = 0;

  /// Reports that a descriptor of a transport is about to be closed.
  virtual void descriptor_closing(int descriptor) = 0;

  /// Returns whether all threads that ever wait for operations do so now.
  virtual bool do_all_threads_wait() const = 0;
};

/// The wait of a direct run for a message.
class DirectWait {
 public:
  /// Waits between two looks. Returns false to end them.
  virtual bool pause() = 0;

 protected:
  ~DirectWait() = default;
};

/// The part of a call that has been run without an operation.
struct BegunCall {
  bool is_done = false;
  std::span<const StepIndex> steps{};
  std::span<const std::byte> scratch{};
};

/// The operations under way, and the reports of transports and of other ranks. A failure of one
/// operation breaks the runner: every rank is notified, and every operation fails. One thread at a
/// time; nothing waits.
class Runner final : private TransportEvents, private ControlEvents {
 public:
  /// Borrows the listener.
  Runner(Connections& connections, RunnerEvents& events);

  Routes& routes() noexcept { return routes_; }
  const Routes& routes() const noexcept { return routes_; }

  /// Notes that a communicator of this number was made, whose calls are counted from `begin`.
  void expect_calls(std::uint32_t communicator, std::uint64_t begin);

  /// Runs as much of a call as can be done at once. What is left is to be started, by the same
  /// thread that holds the lock.
  BegunCall run_now(const DirectCall& call, DirectWait& wait);

  /// Begins an operation, or the rest of one, and moves what can be moved at once. Throws what
  /// broke the runner before.
  std::shared_ptr<Operation> start(Work work, const BegunCall& begun = {});

  /// Move a message of few bytes at once, without an operation. Return false, with nothing done, if
  /// something is in its way.
  bool send_now(Outgoing& message);
  bool receive_now(Incoming& message);

  /// Moves what can be moved; returns false where that was nothing.
  bool progress();

  /// Reads the notices of other ranks. `settle_or_fail` draws their consequences.
  void read_notices() { routes_.control().progress(); }
  void settle_or_fail() noexcept;
  void remove_done();

  void fail(const Error& error) noexcept;
  /// Notes the rank that the program will fail for, unless one is known already.
  void note_culprit(Rank culprit) noexcept;
  /// Notes a rank that the program may fail for: a later one takes its place.
  void blame(Rank culprit) noexcept;
  const std::optional<Error>& failure() const noexcept { return failure_; }
  const std::optional<CausedError>& loss_of(Rank rank) const {
    return lost_[static_cast<std::size_t>(rank.value)];
  }

  bool has_operations() const noexcept { return !active_.empty(); }
  /// Returns whether another engine (MPI or NCCL) runs an operation.
  bool has_offloaded() const noexcept { return offloaded_ > 0; }

  /// Fails where operations lead nowhere. `is_waiting`: a thread waits for an operation.
  void check_stalls(bool is_waiting) noexcept;
  bool has_warnings() const noexcept { return stalls_.has_warnings() || !warnings_.empty(); }
  std::vector<std::string> take_warnings();

 private:
  // Reports.
  void sent(Outgoing& message) override;
  void received(Incoming& message) override;
  void noted(Rank from, MessageTag tag, const Note& note) override;
  void lost(Rank peer, const Error& error) override;
  CausedError cause_of_refusal(Rank peer, const Error& error) const override;
  void warned(const std::string& sentence) override;
  void opened(int descriptor) override;
  void closing(int descriptor) override;
  void on_question(Rank from, std::span<const std::byte> question) override;
  void on_answer(Rank from, std::span<const std::byte> answer) override;
  void on_abort(Rank from, std::span<const std::byte> reason) override;

  void look_now_and_then();
  bool is_clear() const noexcept;
  void begin_call(std::uint64_t tag_base, const Note& note);
  bool can_move_now(Rank peer, std::size_t bytes) const;
  void begin(Operation& operation);
  void begin_steps(Operation& operation);
  void begin_step(Operation& operation, StepIndex step);
  bool move(bool (Transport::*how)());
  bool progress_offloaded();
  bool settle();
  void check_lost();
  void drain(Transport& transport, Rank lost);
  bool awaits(const Operation& operation, Rank peer) const;
  bool is_blocked() const;
  void send_abort(const Error& error) noexcept;
  void write_note(Rank culprit) noexcept;

  Rank self_;
  RunnerEvents& events_;
  std::function<void(Rank)> blame_;  ///< Takes the culprit; may be null.
  bool has_note_ = false;            ///< It has taken one.
  CallBook calls_;
  std::vector<std::shared_ptr<Operation>> active_;  ///< Shared with the threads that wait for them.
  OperationPool pool_;
  std::vector<std::pair<Operation*, StepIndex>> finished_;  ///< Reported by transports.
  std::vector<std::optional<CausedError>> lost_;            ///< The losses, by rank.
  std::vector<Rank> newly_lost_;
  bool has_losses_ = false;             ///< True if there is a loss.
  std::optional<CausedError> trouble_;  ///< Reported by transports, or by another rank.
  bool is_trouble_known_ = false;       ///< All ranks know: one of them has notified this one.
  std::optional<Error> failure_;
  std::optional<Rank> culprit_;        ///< The rank that has caused the failure, if it is known.
  std::vector<std::string> warnings_;  ///< The warnings of transports.
  std::size_t offloaded_ = 0;          ///< Offloaded collectives under way.
  std::vector<std::byte> direct_scratch_;
  unsigned direct_runs_ = 0;
  Routes routes_;
  StallDetector stalls_;
};

}  // namespace fastgpu::comm
