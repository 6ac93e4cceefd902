// The way of memory of GPUs through a fabric.
#include "comm/fabric/device_memory.hpp"

#include <doctest/doctest.h>

#include <string>

namespace fastgpu::comm::fabric {
namespace {

constexpr const char* kNetwork = "verbs;ofi_rxm on mlx5_0";

DeviceMemoryFacts able() {
  return {.does_take_it = true, .network = kNetwork};
}

TEST_SUITE_BEGIN("comm/fabric");

TEST_CASE(
    "memory of GPUs goes directly where provider and build can do it, and names the reason if "
    "not") {
  CHECK(choose_device_memory_way(able()).way == DeviceMemoryWay::direct);
  DeviceMemoryFacts forbidden = able();
  forbidden.is_allowed = false;
  DeviceMemoryFacts unable = able();
  unable.does_take_it = false;
  DeviceMemoryFacts refused = able();
  refused.refusal = "libfabric: Function not implemented";
  for (const DeviceMemoryFacts& facts : {forbidden, unable, refused})
    CHECK(choose_device_memory_way(facts).way == DeviceMemoryWay::by_host);
  CHECK(report_of(choose_device_memory_way(able())) ==
        "messages between hosts go directly from and to the memory of GPUs: verbs;ofi_rxm on "
        "mlx5_0 takes memory of GPUs");
  CHECK(report_of(choose_device_memory_way(forbidden)) ==
        "messages between hosts pass through pinned memory of the host: FASTGPU_COMM_GPUDIRECT is "
        "'off'");
  CHECK(report_of(choose_device_memory_way(unable)) ==
        "messages between hosts pass through pinned memory of the host: verbs;ofi_rxm on mlx5_0 "
        "takes no memory of GPUs: its libfabric lacks FI_HMEM for it");
  CHECK(report_of(choose_device_memory_way(refused)) ==
        "messages between hosts pass through pinned memory of the host: verbs;ofi_rxm on mlx5_0 "
        "has refused it: libfabric: Function not implemented");
}

TEST_CASE("only memory that is a GPU's alone is registered as such") {
  const MemoryLocation host{};
  CHECK(location_by({.is_known = true, .type = 2, .device = 3}) ==
        MemoryLocation{.kind = MemoryKind::cuda, .device = 3});
  CHECK(location_by({.is_known = true, .type = 1, .device = 3}) == host);
  CHECK(location_by({.is_known = true, .type = 2, .is_managed = true, .device = 3}) == host);
  CHECK(location_by({.is_known = false, .type = 2, .device = 3}) == host);
  const int here = 0;
  CHECK(location_of(&here) == host);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::fabric
