// Multistep training: ranks exchange gradients or parameters every few steps, or a step later, with
// rounds that end alike on all ranks, however many batches each has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "comm/multistep/empty_rounds.hpp"
#include "comm/multistep/multistep_settings.hpp"
#include "comm/multistep/round_clock.hpp"
#include "comm/multistep/saved_state.hpp"
#include "comm/multistep/slice_exchange.hpp"
#include "comm/multistep/tensor.hpp"

namespace fastgpu::comm {

/// The outcome of one step of this rank.
struct MultistepOutcome {
  bool is_round_end = false;  ///< Ranks have exchanged; the fields below are about that round.
  std::uint64_t round = 0;    ///< The round that has ended, counted from 0.
  /// Gradients: they are averages now, for the optimizer to apply. Parameters: those that the round
  /// averages are the same on all ranks now.
  bool has_results = false;
  bool is_over = false;  ///< All ranks have finished. No further call follows.
  std::optional<NonFiniteReport> non_finite{};
};

/// The steps of one rank. Every rank adds the same tensors in the same order, calls `begin`, then
/// `step` after each of its batches, and `finish` again and again until a round is over. Means are
/// weighted: a step weighs 1, or what `weigh` has set. `ready` may be called by any thread; all
/// else by one at a time.
class Multistep {
 public:
  /// Borrows `communicator`, and `events` if there are any.
  Multistep(Communicator& communicator, const MultistepSettings& mode,
            GradientSettings settings = {}, GradientEvents* events = nullptr);
  Multistep(const Multistep&) = delete;
  Multistep& operator=(const Multistep&) = delete;
  /// Waits for a round that travels, with MultistepMode::delay, as long as a step waits. All ranks
  /// destroy it between the same steps. A failure is that of the communicator's next call.
  ~Multistep();

  const MultistepSettings& mode() const noexcept { return clock_.settings(); }

  /// Adds a gradient, or a parameter, by the mode; returns its number, from 0. Its memory stays at
  /// its place. Throws ErrorKind::usage as GradientExchange::add does, for a type without
  /// fractions, and after `begin`.
  std::size_t add(GradientInfo info, std::span<std::byte> values);
  std::size_t size() const noexcept { return tensors_.size(); }

  /// Compares the mode and what was added with other ranks, and gives all of them the parameters of
  /// rank 0, if parameters were added. A collective, before the first step. Throws
  /// ErrorKind::usage, naming a rank that differs.
  void begin();

  /// Sets the weight of this rank's next step, such as the number of samples in its batch. Throws
  /// ErrorKind::usage unless it is finite and above 0.
  void weigh(double weight);

  /// Marks a gradient of this step complete: with MultistepMode::accumulate it begins to travel in
  /// the last step of a round. Gradients without this call are complete in `step`. Has no effect in
  /// other modes.
  void ready(std::size_t tensor);

  /// Ends a step of this rank. A gradient is 0 afterwards, unless the outcome has results. Throws
  /// as GradientExchange::wait_step does; the round is lost then.
  MultistepOutcome step();

  /// Ends a step of this rank that does not count, such as one whose gradients are not finite: the
  /// program has not moved parameters. Gradients are 0 afterwards, unless the outcome has results.
  MultistepOutcome leave_out();

  /// Returns true if steps with numbers that are not finite are to have no results: a program that
  /// moves parameters itself then leaves such steps out.
  bool skips_non_finite() const noexcept { return settings_.non_finite == NonFiniteAction::skip; }

  /// Takes part in one more round, without a step of its own. A round that has begun ends with the
  /// steps that were made in it.
  MultistepOutcome finish();

  /// Returns the counts of all exchanges.
  GradientCounters counters();

  /// Returns the state of this rank between steps or after the last one, for a file: each rank
  /// keeps its own.
  std::vector<std::byte> saved_state();

  /// Returns the length of what saved_state() returns, without making it.
  std::size_t saved_bytes();

  /// Takes the saved state of the same rank, after `begin`. Parameters that were added have then
  /// the values that they had. Throws ErrorKind::usage for the state of another rank, number of
  /// ranks, mode or set of tensors, and a damaged one; then nothing has changed. The next step
  /// throws it on all ranks if one of them has loaded the state of another round, or none. A
  /// training that was over goes on.
  void load_state(std::span<const std::byte> saved);

 private:
  void compare_once();
  void check_begun() const;
  void check_can_go_on() const;
  void check_tensor(std::size_t tensor) const;
  void take(std::size_t tensor, double weight);
  void take_all(double weight);
  MultistepOutcome end_round(bool is_finished);
  MultistepOutcome end_gradients(bool is_finished);
  MultistepOutcome end_parameters(bool is_finished);
  MultistepOutcome turn(double weight, bool is_finished);
  void start(SliceExchange& slice, const RoundShare& share);
  RoundHeader header_of(const RoundShare& share) const;
  void put_back_others(const SliceExchange& slice);
  RoundShare take_share(bool is_finished);
  MultistepOutcome wait(SliceExchange& slice, const RoundShare& share);
  void warn_of_left_out();
  void settle();
  SavedMultistep saved_head();

  Communicator& communicator_;
  GradientSettings settings_;
  GradientEvents* events_;
  RoundClock clock_;
  std::vector<MultistepTensor> tensors_;
  std::unordered_set<std::string> names_;  ///< The names of the tensors.
  std::vector<SliceExchange> slices_;      ///< Empty before `begin`.
  std::vector<char> taken_;              ///< The gradients of this step that were taken, by tensor.
  double weight_ = 1;                    ///< The weight of the next step.
  RoundVerdict verdict_{};               ///< That of the last round.
  std::optional<RoundShare> under_way_;  ///< MultistepMode::delay: the round that travels.
  std::optional<MultistepOutcome> came_;  ///< The outcome of a round whose results wait.
  bool is_over_ = false;
  bool is_left_out_ = false;  ///< The last step of this rank was left out.
  EmptyRounds empty_rounds_;
  bool has_compared_ = false;  ///< Since `begin`, or since a state was loaded.
};

}  // namespace fastgpu::comm
