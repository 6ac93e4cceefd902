// The list of hosts of mpirun's -H: "demo-0:2,demo-1:2". Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/placement.hpp"

namespace fastgpu::launcher {

/// The slots of a host that is to have all slots of its node.
inline constexpr int kSlotsOfNode = 0;

/// Returns the hosts in the order in which they are first named, with their slots. As for mpirun, a
/// host without a number has one slot, "a:*" and "a:auto" have kSlotsOfNode, and the slots of a
/// host that is named again are added. Throws ErrorKind::usage for an empty name, and for a number
/// that is not within 1 to 1024.
std::vector<NodeSlots> parse_host_list(const std::string& text);

/// Returns the slots of a host that is named twice.
int sum_of_slots(int some, int more);

}  // namespace fastgpu::launcher
