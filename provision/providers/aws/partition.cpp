#include "provision/providers/aws/partition.hpp"

#include <algorithm>
#include <array>

namespace fastgpu::provision::aws {
namespace {

constexpr std::array<std::string_view, 2> kChina = {"cn-north-1", "cn-northwest-1"};
constexpr std::array<std::string_view, 2> kGovernment = {"us-gov-west-1", "us-gov-east-1"};
constexpr std::array<std::string_view, 1> kSovereign = {"eusc-de-east-1"};

// The last one has all other regions.
constexpr std::array kPartitions = {
    Partition{"cn-", ".amazonaws.com.cn", "cn-north-1", "cn-northwest-1", "837727238323", kCny,
              kChina},
    Partition{"us-gov-", ".amazonaws.com", "us-gov-west-1", "", "513442679011", kUsd, kGovernment},
    Partition{"eusc-", ".amazonaws.eu", "eusc-de-east-1", "", "099720109477", Currency{"EUR"},
              kSovereign},
    Partition{"", ".amazonaws.com", "us-east-1", "us-east-1", "099720109477", kUsd, {}},
};

}  // namespace

const Partition& partition_of(std::string_view region) {
  return *std::ranges::find_if(kPartitions, [&](const Partition& partition) {
    return region.starts_with(partition.regions);
  });
}

}  // namespace fastgpu::provision::aws
