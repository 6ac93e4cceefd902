// The rules of a cluster's security group in AWS.
#pragma once

#include <string>
#include <vector>

#include "provision/cloud/model.hpp"
#include "provision/providers/aws/network_parts.hpp"

namespace fastgpu::provision::aws {

/// Lets the group admit SSH from the requested ranges, and all traffic between the cluster's
/// machines. `group` is its description, empty for a new group.
void open_group(Network& network, const pugi::xml_node& group, const std::string& id,
                const cloud::NetworkRequest& request);

/// Takes back the rules of the group that admit SSH from the requested ranges.
void close_group(Network& network, const pugi::xml_node& group,
                 const cloud::NetworkRequest& request);

/// Adds the ranges that the group admits to port 22.
void add_open_ranges(const pugi::xml_node& group, std::vector<IpRange>& ranges);

}  // namespace fastgpu::provision::aws
