// Gossip: after each local step of training, every rank mixes its parameters with those of a few
// neighbours, in place of an average over all ranks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "comm/codecs/codec.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/gossip/distance.hpp"
#include "comm/gossip/drift_guard.hpp"
#include "comm/gossip/gossip_plan.hpp"
#include "comm/gossip/gossip_recorder.hpp"
#include "comm/gossip/gossip_report.hpp"
#include "comm/gossip/gossip_settings.hpp"
#include "comm/gossip/mixer.hpp"
#include "comm/gradients/gradient_events.hpp"
#include "comm/gradients/mixed_precision_reduce.hpp"

namespace fastgpu::comm {

struct SavedGossip;

/// A gossip of parameters. Every rank registers the same parameters in the same order, and makes
/// equally many steps. The first step is a collective that checks this: it throws
/// ErrorKind::usage, naming the rank and the difference. It averages exactly, so that all begin
/// with the same numbers. One thread at a time; the communicator has no other user during a step.
class Gossip {
 public:
  /// Borrows `communicator`, and `events` if there are any. Throws ErrorKind::usage for settings
  /// that do not fit the ranks.
  explicit Gossip(Communicator& communicator, GossipSettings settings = {},
                  GradientEvents* events = nullptr);
  Gossip(const Gossip&) = delete;
  Gossip& operator=(const Gossip&) = delete;
  ~Gossip();

  /// Registers float32 numbers, which stay at their place. Throws ErrorKind::usage for a name that
  /// is registered already, and after the first step.
  void add(const std::string& name, std::span<float> values);

  /// Mixes: called after each local step of training. Throws ErrorKind::remote, on all ranks, for a
  /// parameter that is not finite, naming it.
  GossipReport step();

  /// Returns what this rank remembers, for a file: each rank keeps its own. Between steps.
  std::vector<std::byte> saved_state();

  /// Returns the length of what saved_state() returns, without making it. Between steps.
  std::size_t saved_bytes();

  /// Takes a saved state of this rank: after parameters are registered and before the first step,
  /// on every rank that of the same step. Throws ErrorKind::usage for the state of another rank,
  /// of another number of ranks, of other parameters or settings, and for damaged bytes; then
  /// nothing has changed.
  void load_state(std::span<const std::byte> saved);

  const GossipPlan& plan() const noexcept { return plan_; }

 private:
  struct Parameter {
    std::string name;
    std::span<float> values;
    std::size_t at = 0;  ///< The index of its first number in `numbers_`, once these are laid out.
  };
  /// A part of this rank's slice that is mixed at once.
  struct Stretch {
    std::size_t at = 0;  ///< The index of its first number in the slice.
    std::size_t count = 0;
    std::unique_ptr<Mixer> mixer;
  };
  /// The messages of a stretch that are on their way.
  struct Flight {
    std::size_t stretch = 0;
    std::vector<std::byte> out;
    std::vector<std::vector<std::byte>> in;
    std::vector<Handle> handles;
  };

  void begin();
  void check_same();
  std::size_t place_parameters();
  void lay_out();
  SavedGossip saved_head();
  std::span<float> slice() { return std::span(numbers_).subspan(plan_.place() * slice_, slice_); }
  const Codec* codec_of(const GuardRung& rung);
  bool is_measured(std::uint64_t step) const noexcept;
  void finish_measuring();
  GuardAction hear_guard();
  void pack();
  void unpack();
  void average_exactly(GossipReport& report);
  void mix(GossipReport& report);
  void launch(Flight& flight, std::size_t stretch, const MixingRow& row, MixStep& step);
  void land(Flight& flight, const MixingRow& row, MixStep& step);
  void warn(const std::string& sentence);
  std::uint64_t registration() const;

  Communicator& communicator_;
  GossipSettings settings_;
  GradientEvents* events_;
  GossipPlan plan_;
  std::vector<GuardRung> rungs_;
  PlainDistances plain_;
  std::vector<Parameter> parameters_;
  std::unordered_set<std::string> names_;  ///< The names of the parameters.
  std::size_t count_ = 0;                  ///< The numbers of all parameters.
  std::size_t slice_ = 0;                  ///< The numbers that each rank of a member mixes.

  std::optional<ReductionLevels> levels_;  ///< Absent before the first step.
  std::optional<Communicator> all_;
  std::optional<Communicator> control_;
  std::optional<GossipRecorder> recorder_;
  std::map<std::pair<int, double>, std::unique_ptr<const Codec>> codecs_;
  std::vector<float> numbers_;  ///< The numbers of all parameters, and zeros up to whole slices.
  std::vector<float> mine_;     ///< This rank's slice of the node's average.
  std::vector<float> scratch_;
  std::vector<Stretch> stretches_;
  std::uint64_t step_ = 0;
  GuardState guard_{};
  bool is_exact_next_ = true;  ///< All begin with the same numbers.
  std::uint64_t measured_ = 0;
  DistanceMeter meter_;
  std::optional<DistanceMeter::Sums> heard_;  ///< The sums of all ranks; absent if none is new.
  std::optional<Handle> measuring_;           ///< Declared after what it writes to.
};

}  // namespace fastgpu::comm
