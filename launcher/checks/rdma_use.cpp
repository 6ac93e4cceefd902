#include "launcher/checks/rdma_use.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/counted.hpp"
#include "base/numbers.hpp"

namespace fastgpu::launcher {

namespace {

/// Returns the bytes per second of a port, from "100 Gb/sec (4X EDR)" as the kernel writes it; 0
/// for other texts.
double speed_of(const NodeRdmaPort& port) {
  constexpr double kBytesOfGigabit = 1e9 / 8;
  const auto space = port.rate.find(' ');
  if (space == std::string::npos || !port.rate.substr(space).starts_with(" Gb/sec")) return 0;
  return to_number<double>(port.rate.substr(0, space)).value_or(0) * kBytesOfGigabit;
}

std::string gigabytes(double bytes_per_second) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", bytes_per_second / 1e9);
  return text.data();
}

}  // namespace

RdmaUse rdma_use(std::span<const CheckedNode> before, std::span<const CheckedNode> after,
                 const MeasuredExchange& exchange) {
  constexpr std::uint64_t kPart = 1'000;
  RdmaUse use;
  bool has_all_speeds = true;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (!before[i].state.ok() || !after[i].state.ok()) continue;
    int active = 0, used = 0;
    double speed = 0;
    for (const NodeRdmaPort& port : before[i].state.value().rdma) {
      if (port.state != "ACTIVE" || !port.counts_bytes) continue;
      ++active;
      has_all_speeds = has_all_speeds && speed_of(port) > 0;
      speed += speed_of(port);
      for (const NodeRdmaPort& later : after[i].state.value().rdma)
        if (later.name() == port.name() && later.sent > port.sent &&
            later.sent - port.sent > exchange.size.count / kPart)
          ++used;
    }
    if (active > 0) use.speed = use.speed > 0 ? std::min(use.speed, speed) : speed;
    use.active += active;
    use.used += used;
    use.nodes_with_active += active > 0 ? 1 : 0;
    use.nodes_that_used += used > 0 ? 1 : 0;
  }
  if (!has_all_speeds) use.speed = 0;
  if (use.nodes_that_used == static_cast<int>(before.size())) use.rate = exchange.rate;
  return use;
}

std::string in_words(const RdmaUse& use) {
  std::string text = std::to_string(use.used) + " of " + counted(use.active, "active port") +
                     " carried the all-reduce";
  if (use.rate <= 0) return text;
  text += ", at " + gigabytes(use.rate);
  if (use.speed > 0) text += " of " + gigabytes(use.speed);
  return text + " GB/s on each node";
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
