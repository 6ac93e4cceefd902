// Instances between EC2's words and ours. Pure.
#pragma once

#include "provision/cloud/model.hpp"
#include "provision/providers/aws/ec2.hpp"

namespace fastgpu::provision::aws {

/// The parameters of RunInstances. `is_block` says that the launch's reservation is a capacity
/// block, which is a market of its own.
Parameters launch_parameters(const cloud::Launch& launch, bool is_block = false);

/// Those of an answer's instancesSet, wherever in `root` reservations stand.
std::vector<cloud::Machine> machines_in(const pugi::xml_node& root, const std::string& region);

/// Appends "<prefix>.Tag.<n>.Key" and "Value" for the marks, and a name for people.
void add_tags(Parameters& parameters, const std::string& prefix, const cloud::Marks& marks);

/// The marks in a tagSet.
cloud::Marks marks_in(const pugi::xml_node& node);

}  // namespace fastgpu::provision::aws
