// The conversion of machines to and from CVM's form. Pure.
#pragma once

#include <span>

#include "provision/cloud/model.hpp"
#include "provision/providers/tencent/tencent_api.hpp"

namespace fastgpu::provision::tencent {

/// Returns the parameters of RunInstances, sent at `now`. Each instance's name ends in its node's
/// index.
json launch_body(const cloud::Launch& launch, std::chrono::system_clock::time_point now);

/// Returns the time at which a timer ends that is set at `now` for `wished`.
std::chrono::system_clock::time_point timer_time(std::chrono::system_clock::time_point wished,
                                                 std::chrono::system_clock::time_point now);

/// Returns the cloud's own timer that ends an instance at `wished`, or at the earliest time that
/// can be set at `now`.
json end_timer(std::chrono::system_clock::time_point wished,
               std::chrono::system_clock::time_point now);

/// Returns the machines with an identity in an answer to DescribeInstances.
std::vector<cloud::Machine> machines_in(std::span<const JsonAnswer> instances,
                                        const std::string& region);

/// Returns the ids in an answer to RunInstances.
std::vector<std::string> launched_in(const Answer& answer);

/// Returns the ids of the timers in an answer.
std::vector<std::string> timers_in(const Answer& answer);

/// Returns the marks as [{"Key": ..., "Value": ...}, ...].
json tags_of(const cloud::OwnerTags& marks);

/// Returns the marks in such a list.
cloud::OwnerTags marks_in(const Answer& tags);

/// Returns a filter for resources marked with this cluster or, for an empty identity, with any
/// cluster.
json marked(const state::ClusterId& cluster);

/// Returns true if machines of the type are connected by RDMA. They need a high-performance
/// cluster.
bool is_hpc(std::string_view type);

}  // namespace fastgpu::provision::tencent
