// Instances between ECS's words and ours. Pure.
#pragma once

#include "provision/cloud/model.hpp"
#include "provision/providers/alibaba/alibaba_api.hpp"

namespace fastgpu::provision::alibaba {

/// What disks are made of where nobody says so.
constexpr const char* kDiskType = "cloud_essd";

/// As a launch and the question for its price have it.
void add_data_disk(Parameters& parameters, const DataDisk& disk);

/// The parameters of RunInstances, sent at `now`. Each instance's name ends in its node's index.
Parameters launch_parameters(const cloud::Launch& launch,
                             std::chrono::system_clock::time_point now);

/// When the cloud's own timer is to go off: as wished, as far as it can be set at `now`.
std::chrono::system_clock::time_point release_at(std::chrono::system_clock::time_point wished,
                                                 std::chrono::system_clock::time_point now);

/// The same as the cloud is told it.
std::string release_time(std::chrono::system_clock::time_point wished,
                         std::chrono::system_clock::time_point now);

/// Those of an answer to DescribeInstances.
std::vector<cloud::Machine> machines_in(const Answer& answer, const std::string& region);

/// The ids in an answer to RunInstances.
std::vector<std::string> launched_in(const Answer& answer);

/// Appends "Tag.<n>.Key" and "Value" for the marks.
void add_tags(Parameters& parameters, const cloud::Marks& marks);

/// Appends "Tag.1" so that only what is marked is listed: with this cluster's mark or, for an empty
/// identity, any cluster's.
void add_tag_filter(Parameters& parameters, const state::ClusterId& cluster);

/// The marks in "Tags", which ECS and VPC write differently.
cloud::Marks marks_in(const Answer& thing);

}  // namespace fastgpu::provision::alibaba
