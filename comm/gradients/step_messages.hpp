// The messages by which ranks agree on the end of a step, and warnings about ranks that are late.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/negotiation.hpp"
#include "comm/gradients/recorder.hpp"

namespace fastgpu::comm {

/// Carries the messages of a Negotiation between the ranks, and counts them. Not thread-safe.
class StepMessages {
 public:
  struct Parts {
    Communicator& communicator;  ///< Carries these messages only.
    Recorder& recorder;
    const GradientTable& table;
  };

  /// Borrows the parts. `warn` receives a sentence for each rank that is late once this rank has
  /// waited for `stall`, and again each time it has waited three times as long as before.
  StepMessages(Parts parts, std::chrono::milliseconds stall,
               std::function<void(const std::string&)> warn);

  /// Ends the step: returns the agreement of all ranks, once they have stated theirs.
  Agreement negotiate(Negotiation::Statement statement);

  /// Notifies the ranks that may wait for this one that it is late in the step of `mine`. A failure
  /// is that of the whole job, which the next call will meet as well: it is not reported.
  void notify_late(const RankState& mine);

 private:
  using LateRanks = std::map<Rank, RankState>;  ///< The reports of late ranks.
  /// A message that is too long to have left after its send.
  struct Sent {
    std::vector<std::byte> message;
    Handle handle;
  };

  void send(std::vector<Negotiation::Outgoing> messages);
  void receive(std::span<std::byte> message, Rank from, Reminder& reminder);
  void warn_of_stall(Rank awaited, std::uint32_t step, std::chrono::milliseconds waited);

  Parts parts_;
  std::chrono::milliseconds stall_;
  std::function<void(const std::string&)> warn_;
  LateRanks late_;
  std::vector<Sent> under_way_;
};

}  // namespace fastgpu::comm
