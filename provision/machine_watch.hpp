// Notices machines that end while they are waited for.
#pragma once

#include <map>
#include <span>

#include "provision/observe.hpp"
#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Returns the failure of a node that will never get an address.
Error gone_machine(const state::Node& node);

/// Judges the lists of one wait. A machine that is listed as gone has ended. One that is missing
/// has ended only if it is missing for kUnlistedAtMost, because a cloud lists new machines late.
class MachineWatch {
 public:
  explicit MachineWatch(const Clock& clock) : clock_(clock) {}

  /// Throws gone_machine() for the first of `nodes` whose machine has ended according to `found`.
  void check(std::span<const state::Node> nodes, std::span<const Instance> found);

 private:
  const Clock& clock_;
  std::map<int, Clock::time_point> last_listed_;  ///< By the node's index.
};

}  // namespace fastgpu::provision
