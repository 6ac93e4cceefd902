// Instances between CVM's words and ours. Pure.
#pragma once

#include <span>

#include "provision/cloud/model.hpp"
#include "provision/providers/tencent/tencent_api.hpp"

namespace fastgpu::provision::tencent {

/// The parameters of RunInstances, sent at `now`. Each instance's name ends in its node's index.
json launch_body(const cloud::Launch& launch, std::chrono::system_clock::time_point now);

/// When a timer runs out that is set at `now` for `wished`.
std::chrono::system_clock::time_point timer_time(std::chrono::system_clock::time_point wished,
                                                 std::chrono::system_clock::time_point now);

/// The cloud's own timer, that ends an instance when wished, as far as it can be set at `now`.
json end_timer(std::chrono::system_clock::time_point wished,
               std::chrono::system_clock::time_point now);

/// Those of an answer to DescribeInstances that have an identity.
std::vector<cloud::Machine> machines_in(std::span<const Document> instances,
                                        const std::string& region);

/// The ids in an answer to RunInstances.
std::vector<std::string> launched_in(const Answer& answer);

/// The ids of the timers that an answer tells of.
std::vector<std::string> timers_in(const Answer& answer);

/// [{"Key": ..., "Value": ...}, ...]
json tags_of(const cloud::Marks& marks);

/// The marks in such a list.
cloud::Marks marks_in(const Answer& tags);

/// Of what is marked with this cluster or, for an empty identity, any cluster.
json marked(const state::ClusterId& cluster);

/// Whether machines of the type are connected by RDMA; these stand in high-performance clusters.
bool is_hpc(std::string_view type);

}  // namespace fastgpu::provision::tencent
