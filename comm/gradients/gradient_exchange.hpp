// The exchange of gradients: they are registered once, made ready in any order, and exchanged in
// few large messages while others are still being computed.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/common/caused_error.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/gradients/bucket_launcher.hpp"
#include "comm/gradients/bucket_streams.hpp"
#include "comm/gradients/gradient_codec.hpp"
#include "comm/gradients/gradient_events.hpp"
#include "comm/gradients/gradient_memory.hpp"
#include "comm/gradients/gradient_settings.hpp"
#include "comm/gradients/gradients_on_devices.hpp"
#include "comm/gradients/non_finite.hpp"
#include "comm/gradients/planned_buffer.hpp"
#include "comm/gradients/planned_order.hpp"
#include "comm/gradients/recorder.hpp"
#include "comm/gradients/stall_watchdog.hpp"
#include "comm/gradients/step_messages.hpp"
#include "comm/gradients/step_outcome.hpp"
#include "comm/gradients/step_progress.hpp"
#include "comm/gradients/tuning.hpp"

namespace fastgpu::comm {

/// When the order of gradients in a saved state is taken.
enum class SavedOrder : std::uint8_t {
  before_first_step,  ///< A set that has made a step keeps its own, the same on all ranks.
  always              ///< On all ranks: each of them loads a state of the same checkpoint.
};

/// An exchange of gradients. Every rank registers the same gradients in the same order. The first
/// `ready`, `view` or `wait_step` of a rank is a collective that checks this: it throws
/// ErrorKind::usage, naming the rank and the difference. `ready` and `ready_at` may be called by
/// any thread; all else by one at a time, and a step's last `ready` has returned before its
/// `wait_step` begins. The communicator has no other user at that time.
class GradientExchange {
 public:
  /// Borrows `communicator`, and `events` if there are any.
  explicit GradientExchange(Communicator& communicator, GradientSettings settings = {},
                            GradientEvents* events = nullptr);
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;
  ~GradientExchange();

  /// Registers one gradient. Its memory stays at its place; `values` may be empty for one that is
  /// written into its view. Throws ErrorKind::usage for a name that is registered already, for
  /// memory of another size or of a device that is not `device`, and after the first step has
  /// begun. `device` is null for memory of the host, and one for all others.
  GradientId add(GradientInfo info, std::span<std::byte> values,
                 const std::shared_ptr<gpu::Device>& device = nullptr);
  template <class T>
  GradientId add(const std::string& name, std::span<T> values) {
    return add({.name = name, .type = kElementType<T>, .shape = {values.size()}},
               std::as_writable_bytes(values));
  }

  /// Returns the place of this gradient in the fusion buffer, of type wire_type(id). From now on it
  /// is written and read there, not copied.
  std::span<std::byte> view(GradientId id);
  ElementType wire_type(GradientId id) const;

  /// Sets the operation of later steps; average at first. Called between steps.
  void use_operation(ReduceOp op);

  /// Marks the gradient complete on this rank; it is not touched before the step ends. Throws
  /// ErrorKind::usage for one that is ready already. On a device it is complete once `stream` has
  /// passed its present content; this does not wait for that.
  void ready(GradientId id, gpu::StreamHandle stream = nullptr);

  /// Does what `ready` does for a gradient of the host that is at `values` in this step, and gets
  /// its result there. Throws ErrorKind::usage for memory of another size, and for a gradient that
  /// is written into its view or is on a device.
  void ready_at(GradientId id, std::span<std::byte> values);

  /// Ends the step and waits for its results. Throws ErrorKind::usage if a gradient is ready on
  /// some ranks only, naming those on which it is not. Throws ErrorKind::remote for a number that
  /// is not finite if that is to stop. The next step may follow all the same, with views at their
  /// old places.
  StepOutcome wait_step() { return end_step({}); }

  /// Ends the step as wait_step does, but results for a device may still be on their way there:
  /// later work in `stream` comes after them. With several devices the results have arrived.
  StepOutcome wait_step(gpu::StreamHandle stream) { return end_step({}, stream); }

  /// Ends the step as wait_step does, and announces to all ranks that this one makes no further
  /// step.
  StepOutcome leave() { return end_step({.is_leaving = true}); }

  /// Exchanges all gradients: makes the missing ones ready, and waits.
  void all_reduce_gradients(ReduceOp op);

  const GradientTable& table() const noexcept { return table_; }
  /// Throws ErrorKind::usage if there is no such gradient.
  const GradientInfo& info(GradientId id) const;
  /// Returns the number of buckets; 0 before the first step.
  std::size_t buckets() const noexcept { return buffer_.plan().buckets.size(); }

  GradientCounters counters();

  /// Returns what the codec of this rank remembers, for a file, and the order in which gradients
  /// travel: each rank keeps its own. Without a codec it is the order alone, the same on all ranks,
  /// and empty before the first step. With a codec it is called between steps: else it throws
  /// usage.
  std::vector<std::byte> saved_state();

  /// Returns the length of what saved_state() returns, without making it. Throws as it does.
  std::size_t saved_bytes();

  /// Throws as `load_state` does, and changes nothing.
  void check_state(std::span<const std::byte> saved);

  /// Takes a saved state of this rank; called between steps, after gradients are registered. See
  /// CodecState::load. An empty one changes nothing. The order is taken if it has the gradients of
  /// this set and no others. Before the first call of a step, that of rank 0 counts for all; later
  /// all ranks load one, and views have moved then, with their content.
  void load_state(std::span<const std::byte> saved,
                  SavedOrder which = SavedOrder::before_first_step);

  /// Returns a fingerprint of the order in which gradients travel.
  std::uint64_t order() const;

 private:
  using Lock = std::unique_lock<std::mutex>;

  void begin(const Lock& lock);
  void begin_gradient(const Lock& lock, GradientId id);
  void travel(GradientId id, gpu::StreamHandle stream);
  void take_order(const PlannedOrder::Names& names);
  CodecState decode_codec(std::span<const std::byte> saved) const;
  void lay_out();
  void lay_out_devices();
  void make_encoded_sums();
  void follow_warmup();
  void check_between_steps(std::string_view what) const;
  void begin_launching();
  void change_plan(StepOutcome& outcome, const std::vector<GradientId>& order, double waited);
  void move_views();
  void check_exists(GradientId id) const;
  void pack(GradientId id);
  std::optional<std::size_t> pack(const GradientPiece& piece);
  void device_packed(const PackedPiece& packed);
  void piece_is_packed(const PackedPiece& packed);
  void unpack(std::size_t number, const GradientSet& ready);
  StepOutcome end_step(Verdicts wishes, std::optional<gpu::StreamHandle> stream = std::nullopt);

  /// Runs `action`. A refusal of the device ends the job, on all ranks.
  template <class Action>
  void on_device(Action action) {
    try {
      action();
    } catch (const Error& e) {
      communicator_.give_up(e);
      throw;
    }
  }
  void finish(const Agreement& agreement, bool applies);
  void next_step();
  RankState state(Verdicts verdicts) const;
  void notify_late(std::chrono::milliseconds lasted);
  void warn(const std::string& sentence);
  CausedError caused(const StepFailure& failure);
  std::string described(const NonFiniteReport& report, std::uint32_t step) const;

  Communicator& communicator_;
  GradientSettings settings_;
  GradientEvents* events_;
  GradientTable table_;
  GradientMemory memory_;
  TensorsOnDevices device_tensors_;  ///< The memory that is not the host's.
  std::vector<ElementType> wire_;
  GradientCodec codec_;
  std::unique_ptr<gpu::DeviceCollectives> device_sums_;  ///< Null if the host sums buckets.

  std::mutex mutex_;
  std::optional<BucketStreams> streams_;
  std::optional<Communicator> control_;
  std::optional<Recorder> recorder_;
  std::optional<StepMessages> messages_;
  std::optional<Tuning> tuning_;
  PlannedOrder order_;
  PlannedBuffer buffer_;
  std::optional<BucketLauncher> launcher_;  ///< Absent before the first step.

  StepProgress progress_;
  bool is_over_ = false;  ///< True once a rank has left.
  ReduceOp op_ = ReduceOp::average;

  std::unique_ptr<GradientsOnDevices> devices_;  ///< Null if all gradients are the host's.
  std::optional<StallWatchdog> watch_;           ///< Declared last, to end before what it looks at.
};

}  // namespace fastgpu::comm
