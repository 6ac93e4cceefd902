// The counts of a rank's networks, written for programs to read.
#pragma once

#include <span>
#include <string>

#include "comm/common/rank.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// Returns {"schema": "fastgpu.comm.links/1", "rank": 0, "links": [{"name": "tcp 10.0.0.1",
/// "frames_sent": 12, ...}]} on one line.
std::string links_json(std::span<const LinkCounters> links, Rank rank);

/// Returns the list alone, [{"name": "tcp 10.0.0.1", "frames_sent": 12, ...}].
std::string links_list(std::span<const LinkCounters> links);

/// Returns Prometheus' text format: each count as fastgpu_comm_link_<name>_total with labels for
/// the rank and the link, and the open connections as fastgpu_comm_link_connections.
std::string links_prometheus(std::span<const LinkCounters> links, Rank rank);

}  // namespace fastgpu::comm
