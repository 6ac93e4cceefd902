#include "launcher/log_nodes.hpp"

#include "base/contains.hpp"
#include "launcher/process_names.hpp"

namespace fastgpu::launcher {

std::vector<NodeRanks> nodes_with_logs(const std::string& id, std::span<const NodeRanks> placement,
                                       const LogRequest& request) {
  std::vector<NodeRanks> read(placement.begin(), placement.end());
  if (request.rank) {
    require_rank(id, placement, *request.rank);
    const NodeName where = node_of(placement, *request.rank);
    const bool follows = request.mode == LogMode::follow;
    std::erase_if(read, [&](const NodeRanks& ranks) {
      return ranks.node != where && !(follows && ranks.node == placement.front().node);
    });
  }
  std::erase_if(read,
                [&](const NodeRanks& ranks) { return contains(request.left_out, ranks.node); });
  return read;
}

}  // namespace fastgpu::launcher
