#include "cli/workflows/record_publisher.hpp"

#include <future>

#include "base/fault_point.hpp"
#include "base/file_status.hpp"
#include "base/files.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "provision/cloud/ownership.hpp"
#include "provision/cluster_record.hpp"
#include "provision/first_contact.hpp"
#include "provision/providers.hpp"
#include "ssh/keys.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the path of the local copy of the record that was published last.
std::filesystem::path copy_of(Services& services, const state::ClusterId& cluster) {
  return state::cluster_directory(services.state_directory(), cluster) / "record.json";
}

std::string text_of(const state::Store& store, const state::Cluster& cluster) {
  return to_text(provision::ClusterRecord{
      .cluster = cluster, .nodes = store.nodes(cluster.id), .runs = store.runs(cluster.id)});
}

void tag_head(Services& services, const state::Cluster& cluster, const state::Node& head) {
  const state::Place& place = cluster.cloud().places.at(cluster.placement().place);
  const std::vector<std::string> ids = {head.instance_id};
  const auto mark = provision::cloud::host_key_mark(ssh::fingerprint(head.host_keys.front()));
  services.cloud(cluster.provider)
      .tag(place.site.region, ids, {.host_key = mark}, services.cancel());
}

/// Returns true if the node's machine runs and has been met, so that it has a host key of its own.
bool is_reachable(const state::Store& store, const state::Node& node) {
  return node.state == state::NodeState::running && !node.address.empty() &&
         !node.instance_id.empty() && node.host_keys.size() == 1 &&
         !provision::unmet_nodes(store, node.cluster).contains(node.name);
}

}  // namespace

bool is_published(Services& services, const state::ClusterId& cluster) {
  return path_exists(copy_of(services, cluster));
}

void write_record(Services& services, const state::Cluster& cluster, launcher::HeadNode& head) {
  const state::Node node = services.store().nodes(cluster.id).front();
  const std::string text = text_of(services.store(), cluster);
  if (read_file(copy_of(services, cluster.id)) == text) return;
  services.cloud(cluster.provider);  // Created in this thread; the next one only uses it.
  const std::string mark = services.owner(cluster.provider).mark();
  auto tagged = std::async(std::launch::async, [&] { tag_head(services, cluster, node); });
  head.put_record(text, mark, services.cancel());
  tagged.get();
  fault_point("record:written");
  state::write_private_file(copy_of(services, cluster.id), text);
}

void publish_record(Services& services, const ClusterName& name) {
  const auto cluster = services.store().find_cluster(name);
  if (!cluster || !provision::is_cloud(cluster->provider)) return;
  const auto nodes = services.store().nodes(cluster->id);
  if (nodes.empty() || !is_reachable(services.store(), nodes.front())) return;
  try {
    launcher::HeadNode head(services.ssh(), to_host(services.store(), *cluster, nodes.front()),
                            services.agent());
    write_record(services, *cluster, head);
  } catch (const Error& e) {
    services.cancel().check();
    services.messages().warn(std::string(e.what()) +
                             ": until a later change writes the record, `fastgpu " +
                             "attach cluster` on another machine misses this change");
  }
}

}  // namespace fastgpu::cli
