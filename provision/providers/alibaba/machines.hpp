// The conversion of machines to and from ECS's form. Pure.
#pragma once

#include "provision/cloud/model.hpp"
#include "provision/providers/alibaba/alibaba_api.hpp"

namespace fastgpu::provision::alibaba {

/// The default type of disks.
constexpr const char* kDiskType = "cloud_essd";

/// Adds a data disk in the form of a launch and of a request for its price.
void add_data_disk(Parameters& parameters, const DataDisk& disk);

/// Returns the parameters of RunInstances, sent at `now`. Each instance's name ends in its node's
/// index.
Parameters launch_parameters(const cloud::Launch& launch,
                             std::chrono::system_clock::time_point now);

/// Returns the time for the cloud's own timer: `wished`, or the earliest time that can be set at
/// `now`.
std::chrono::system_clock::time_point release_at(std::chrono::system_clock::time_point wished,
                                                 std::chrono::system_clock::time_point now);

/// Returns that time in the cloud's form.
std::string release_time(std::chrono::system_clock::time_point wished,
                         std::chrono::system_clock::time_point now);

/// Returns the machines in an answer to DescribeInstances.
std::vector<cloud::Machine> machines_in(const Answer& answer, const std::string& region);

/// Returns the ids in an answer to RunInstances.
std::vector<std::string> launched_in(const Answer& answer);

/// Appends "Tag.<n>.Key" and "Value" for the marks.
void add_tags(Parameters& parameters, const cloud::OwnerTags& marks);

/// Appends "Tag.1", which limits a list to resources with this cluster's mark or, for an empty
/// identity, with any cluster's mark.
void add_tag_filter(Parameters& parameters, const state::ClusterId& cluster);

/// Returns the marks in "Tags", whose form differs between ECS and VPC.
cloud::OwnerTags marks_in(const Answer& thing);

}  // namespace fastgpu::provision::alibaba
