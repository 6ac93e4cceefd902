#include "launcher/checks/rdma_use.hpp"

#include <algorithm>

#include "base/counted.hpp"

namespace fastgpu::launcher {

RdmaUse rdma_use(std::span<const CheckedNode> before, std::span<const CheckedNode> after,
                 Bytes exchanged) {
  constexpr std::uint64_t kPart = 1'000;
  RdmaUse use;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (!before[i].state.ok() || !after[i].state.ok()) continue;
    int active = 0, used = 0;
    for (const NodeRdmaPort& port : before[i].state.value().rdma) {
      if (port.state != "ACTIVE" || !port.counts_bytes) continue;
      ++active;
      for (const NodeRdmaPort& later : after[i].state.value().rdma)
        if (later.name() == port.name() && later.sent > port.sent &&
            later.sent - port.sent > exchanged.count / kPart)
          ++used;
    }
    use.active += active;
    use.used += used;
    use.nodes_with_active += active > 0 ? 1 : 0;
    use.nodes_that_used += used > 0 ? 1 : 0;
  }
  return use;
}

std::optional<Finding> tcp_finding(const RdmaUse& use, int nodes, Severity severity) {
  if (nodes == 0 || use.nodes_with_active < nodes || use.nodes_that_used == nodes)
    return std::nullopt;
  return Finding{.check = "rdma-use",
                 .severity = severity,
                 .nodes = {},
                 .found = "the all-reduce used TCP: " + std::to_string(use.used) + " of " +
                          counted(use.active, "active RDMA port") + " carried data",
                 .why = "TCP is several times slower than RDMA",
                 .remedy =
                     "install libfabric 1.17 or newer and the plugin of libfastgpu_comm on "
                     "the nodes; --allow-tcp accepts TCP"};
}

}  // namespace fastgpu::launcher
