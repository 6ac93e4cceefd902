// The parts that RunInstances creates in addition to the instance.
#pragma once

#include <string>
#include <vector>

#include "cloudsim/apis/aws/ec2.hpp"

namespace fastgpu::cloudsim::aws {

struct WantedInterface {
  int device = 0, card = 0;
  std::string type = "interface";  ///< "interface", "efa" or "efa-only".
  std::string subnet;
  std::vector<std::string> groups;
  bool delete_on_termination = true;
};

struct WantedNetwork {
  std::vector<WantedInterface> interfaces;  ///< The primary interface comes first.
  bool public_address = false;
};

/// Reads and checks NetworkInterface.N, or SubnetId and SecurityGroupId.N.
WantedNetwork wanted_network(const Ec2Call& call, const MachineType& type);

struct WantedVolume {
  std::string device = "/dev/sda1";
  int size_gb = 8;
  std::string type = "gp3";
  bool delete_on_termination = true;
};

std::vector<WantedVolume> wanted_volumes(const Ec2Call& call, const Image& image);

void attach(const Ec2Call& call, Instance& instance, const WantedNetwork& network,
            const std::vector<WantedVolume>& volumes);

}  // namespace fastgpu::cloudsim::aws
