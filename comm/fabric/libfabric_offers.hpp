// The networks that libfabric offers: part of the plugin.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/fabric/plugin.hpp"

namespace fastgpu::comm::fabric {

struct Offers {
  struct Found {
    FabricOffer offer{};
    std::unique_ptr<fi_info, decltype(&::fi_freeinfo)> info{nullptr, ::fi_freeinfo};
  };
  std::vector<Found> all{};
};

// The functions of FabricFunctions with these names.
int find(const FabricSearch* search, Offers** found);
std::size_t count(const Offers* offers);
const FabricOffer* offer(const Offers* offers, std::size_t index);
void forget(Offers* offers);

}  // namespace fastgpu::comm::fabric
