// Machines that a cloud has accepted and whose ids are all that its answer has.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "provision/cloud/cloud.hpp"
#include "provision/cloud/machine_address.hpp"

namespace fastgpu::provision::cloud {

/// Returns the machines of a launch by the ids in its answer, which go on record before the cloud
/// lists them. Their indexes follow the order of the ids: provision::follow_indexes corrects them
/// by the list.
inline std::vector<Machine> accepted_machines(std::string_view cloud, const Launch& launch,
                                              std::span<const std::string> ids) {
  std::vector<Machine> machines;
  for (const std::string& id : ids)
    machines.push_back({.id = machine_id_told(cloud, id),
                        .index = launch.first + static_cast<int>(machines.size()),
                        .state = MachineState::pending,
                        .site = launch.site,
                        .type = launch.type,
                        .marks = launch.marks});
  return machines;
}

}  // namespace fastgpu::provision::cloud
