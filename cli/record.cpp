#include "cli/record.hpp"

#include <future>

#include "base/fault_point.hpp"
#include "base/file_status.hpp"
#include "cli/cluster_tools.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/ownership.hpp"
#include "provision/cluster_record.hpp"
#include "provision/first_contact.hpp"
#include "provision/providers.hpp"
#include "ssh/keys.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the path of the copy that was written last.
std::filesystem::path copy_of(Context& context, const state::ClusterId& cluster) {
  return state::cluster_directory(context.state_directory(), cluster) / "record.json";
}

std::string text_of(const state::Store& store, const state::Cluster& cluster) {
  return to_text(provision::ClusterRecord{
      .cluster = cluster, .nodes = store.nodes(cluster.id), .runs = store.runs(cluster.id)});
}

void tag_head(Context& context, const state::Cluster& cluster, const state::Node& head) {
  const auto spec = provision::cloud::parse_cloud_spec(cluster.spec_json);
  const auto standing = provision::cloud::parse_standing(cluster.network);
  const std::vector<std::string> ids = {head.instance_id};
  const auto mark = provision::cloud::host_key_mark(ssh::fingerprint(head.host_keys.front()));
  context.cloud(cluster.provider)
      .tag(spec.places.at(standing.place).site.region, ids, {.host_key = mark}, context.cancel());
}

/// Returns true for a node that has a running machine, and a host key that only it knows.
bool is_reachable(const state::Store& store, const state::Node& node) {
  return node.state == state::NodeState::running && !node.address.empty() &&
         !node.instance_id.empty() && node.host_keys.size() == 1 &&
         !provision::unmet_nodes(store, node.cluster).contains(node.name);
}

}  // namespace

bool is_published(Context& context, const state::ClusterId& cluster) {
  return path_exists(copy_of(context, cluster));
}

void write_record(Context& context, const state::Cluster& cluster, launcher::HeadNode& head) {
  const state::Node node = context.store().nodes(cluster.id).front();
  const std::string text = text_of(context.store(), cluster);
  if (state::read_file(copy_of(context, cluster.id)) == text) return;
  context.cloud(cluster.provider);  // Made here, and used there.
  const std::string mark = context.owner(cluster.provider).mark();
  auto tagged = std::async(std::launch::async, [&] { tag_head(context, cluster, node); });
  head.put_record(text, mark, context.cancel());
  tagged.get();
  fault_point("record:written");
  state::write_private_file(copy_of(context, cluster.id), text);
}

void publish_record(Context& context, const ClusterName& name) {
  const auto cluster = context.store().find_cluster(name);
  if (!cluster || !provision::is_cloud(cluster->provider)) return;
  const auto nodes = context.store().nodes(cluster->id);
  if (nodes.empty() || !is_reachable(context.store(), nodes.front())) return;
  try {
    launcher::HeadNode head(context.ssh(), to_host(context.store(), *cluster, nodes.front()),
                            context.agent());
    write_record(context, *cluster, head);
  } catch (const Error& e) {
    context.cancel().check();
    context.ui().warn(std::string(e.what()) + ": until a later change has written it, `fastgpu " +
                      "attach cluster` elsewhere does not know of this one");
  }
}

}  // namespace fastgpu::cli
