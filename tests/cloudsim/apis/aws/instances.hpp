// Instances in the form of EC2's answers.
#pragma once

#include "cloudsim/apis/aws/ec2.hpp"

namespace fastgpu::cloudsim::aws {

/// Returns the state: {"code": 16, "name": "running"}.
Json state_of(const Instance& instance);
Json shape_interface(const Resource& interface);
Json shape_instance(const Ec2Call& call, const Instance& instance);
/// Sets "stop" or "terminate". Throws ProtocolViolation for anything else.
void set_shutdown_behaviour(Instance& instance, const std::string& behaviour);

}  // namespace fastgpu::cloudsim::aws
