// How EC2 shows an instance.
#pragma once

#include "cloudsim/faces/aws/ec2.hpp"

namespace fastgpu::cloudsim::aws {

/// {"code": 16, "name": "running"}
Json state_of(const Instance& instance);
Json shape_interface(const Resource& interface);
Json shape_instance(const Ec2Call& call, const Instance& instance);
/// "stop" or "terminate"; anything else is a Violation.
void set_shutdown_behaviour(Instance& instance, const std::string& behaviour);

}  // namespace fastgpu::cloudsim::aws
