// The conversion of machines to and from EC2's form. Pure.
#pragma once

#include "provision/cloud/model.hpp"
#include "provision/providers/aws/ec2.hpp"

namespace fastgpu::provision::aws {

/// Returns the parameters of RunInstances. `is_block` is true if the launch's reservation is a
/// capacity block, which is a market of its own.
Parameters launch_parameters(const cloud::Launch& launch, bool is_block = false);

/// Returns the machines in the instancesSet members of an answer, at any depth in `root`.
std::vector<cloud::Machine> machines_in(const pugi::xml_node& root, const std::string& region);

/// Appends "<prefix>.Tag.<n>.Key" and "Value" for the marks, and a name for people.
void add_tags(Parameters& parameters, const std::string& prefix, const cloud::OwnerTags& marks);

/// Returns the marks in a tagSet.
cloud::OwnerTags marks_in(const pugi::xml_node& node);

}  // namespace fastgpu::provision::aws
