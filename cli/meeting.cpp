#include "cli/meeting.hpp"

#include "cli/guarding.hpp"
#include "cli/record.hpp"
#include "provision/first_contact.hpp"

namespace fastgpu::cli {

bool meet(Context& context, const provision::Tools& tools, const state::Cluster& cluster,
          std::span<const state::Node> nodes) {
  if (!provision::meet_nodes(tools, cluster.name, nodes)) return false;
  keep_guards(context, cluster.name, Occasion::changed);
  publish_record(context, cluster.name);
  return true;
}

bool meet(Context& context, const provision::Tools& tools, const state::Cluster& cluster) {
  return meet(context, tools, cluster, context.store().nodes(cluster.id));
}

}  // namespace fastgpu::cli
