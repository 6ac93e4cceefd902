#include "cli/workflows/image_baking.hpp"

#include <algorithm>

#include "base/fault_point.hpp"
#include "base/outcome.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/node_scripts/bake.hpp"
#include "cli/workflows/node_scripts/node_script.hpp"
#include "provision/cloud/caller.hpp"
#include "provision/held_cluster.hpp"
#include "provision/ids.hpp"
#include "provision/journal.hpp"
#include "state/lock.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::Asked;
using provision::cloud::ImageState;
using provision::cloud::OwnImage;

constexpr std::chrono::minutes kBakeTimeout{10};  // Timeout of a node that overwrites hidden files.

state::ImageOrder order_of(const provision::cloud::ImageRequest& request) {
  return {.region = request.region,
          .machine = request.machine,
          .name = request.name,
          .environment = request.marks.environment,
          .made_of = request.marks.made_of,
          .owner = request.marks.owner};
}

/// Returns the image of a journal entry; empty if the entry has none.
state::ImageOrder order_of(const state::Intent& intent) {
  const auto* order = std::get_if<state::ImageOrder>(&*intent.detail);
  return order == nullptr ? state::ImageOrder() : *order;
}

provision::cloud::ImageRequest image_request_of(const state::Intent& intent,
                                                const state::Cluster& cluster) {
  const state::ImageOrder order = order_of(intent);
  return {.region = order.region,
          .machine = order.machine,
          .name = order.name,
          .marks = {.environment = order.environment,
                    .made_of = order.made_of,
                    .cluster = cluster.id,
                    .cluster_name = cluster.name.value,
                    .owner = order.owner},
          .token = intent.token};
}

std::vector<state::Intent> open_bakes(Services& services, const state::ClusterId& cluster) {
  auto intents = services.store().open_intents(cluster);
  std::erase_if(intents, [](const auto& intent) { return intent.action != provision::kBakeImage; });
  return intents;
}

/// Returns the node of the journal entry; absent if the node is gone.
std::optional<state::Node> node_of(Services& services, const state::Intent& intent) {
  for (const state::Node& node : services.store().nodes(intent.cluster))
    if (node.name.value == intent.subject) return node;
  return std::nullopt;
}

void run_on(Services& services, const state::Cluster& cluster, const state::Node& node,
            const std::string& command, const std::string& what, const Cancel& cancel) {
  const ssh::Host host = to_host(services.store(), cluster, node);
  const auto answers = launcher::ask(services.ssh(), {{host, command}}, kBakeTimeout, cancel);
  check_script(answers.at(0), what);
}

/// Restores the secrets of a node. A cancel by the user does not stop this.
void restore_secrets(Services& services, const state::Cluster& cluster, const state::Node& node) {
  const Cancel never;
  run_on(services, cluster, node, restore_secrets_command(node), "get its keys back", never);
}

/// Returns true if the cloud may still make the image despite this error.
bool may_come(const Error& e) {
  return e.kind() == ErrorKind::interrupted || e.kind() == ErrorKind::transient ||
         e.kind() == ErrorKind::timeout;
}

Error with_way_on(const Error& e, const Bake& bake) {
  return {e.kind(), std::string(e.what()) + ": the cloud may still be creating image " +
                        bake.request.name + "; repeat the command to wait for it and to put " +
                        bake.node.name.value + " back"};
}

/// Returns an earlier run's journal entry for the same image, or records a new entry.
state::Intent written_down(Services& services, const Bake& bake) {
  for (const state::Intent& intent : open_bakes(services, bake.cluster.id))
    if (image_request_of(intent, bake.cluster).marks.made_of == bake.request.marks.made_of)
      return intent;
  state::Intent intent{.id = {},
                       .cluster = bake.cluster.id,
                       .action = std::string(provision::kBakeImage),
                       .subject = bake.node.name.value,
                       .token = provision::new_token(),
                       .detail = order_of(bake.request)};
  intent.id = services.store().open_intent(intent);
  return intent;
}

/// Records that the cloud is about to be asked for the image. Returns Asked::perhaps if this was
/// recorded before.
Asked note_asking(Services& services, state::Intent& intent) {
  state::ImageOrder order = order_of(intent);
  if (order.was_asked) return Asked::perhaps;
  order.was_asked = true;
  intent.detail = std::move(order);
  services.store().atomically([&] {
    services.store().close_intent(intent.id);
    intent.id = services.store().open_intent(intent);
  });
  return Asked::never;
}

OwnImage make(Services& services, const Bake& bake, Asked asked) {
  auto& cloud = services.cloud(bake.cluster.provider);
  services.messages().progress("creating image " + bake.request.name + " of " +
                               bake.node.name.value);
  return provision::cloud::make_image(cloud, bake.request, asked, provision::cloud::wait_for,
                                      services.cancel(), bake.timeout);
}

/// Restores the node of a bake whose image is made, or was never requested, unless its memory is
/// lost. Returns false if the image is still being made.
bool end_bake(Services& services, const state::Cluster& cluster, const state::Intent& intent) {
  const auto request = image_request_of(intent, cluster);
  const auto image = provision::cloud::find_image(services.cloud(cluster.provider), request.region,
                                                  request.marks.made_of, services.cancel());
  if (image && image->state == ImageState::pending) return false;
  const auto node = node_of(services, intent);
  if (node && node->state == state::NodeState::running) restore_secrets(services, cluster, *node);
  services.store().close_intent(intent.id);
  return true;
}

provision::Settled settle(Services& services, const state::Intent& intent,
                          const state::Cluster& cluster, bool dry_run) {
  provision::Settled settled{cluster.name.value, "unfinished bake-image " + intent.subject};
  if (dry_run) {
    settled.what =
        "put " + intent.subject + " back after an unfinished bake-image, once its image is created";
    return settled;
  }
  settled.outcome = attempt([&] {
    const provision::Tools tools = services.tools();
    const provision::HeldCluster held(tools, cluster.name);
    if (!end_bake(services, held.cluster(), intent))
      throw Error(ErrorKind::conflict, "its image is still being created: run `fastgpu gc` later");
    settled.what = "put " + intent.subject + " back after an unfinished bake-image";
  });
  return settled;
}

}  // namespace

std::optional<Bake> unfinished_bake(Services& services, const state::Cluster& cluster,
                                    const std::string& made_of) {
  for (const state::Intent& intent : open_bakes(services, cluster.id)) {
    const auto request = image_request_of(intent, cluster);
    const auto node = node_of(services, intent);
    if (request.marks.made_of == made_of && node) return Bake{cluster, *node, request};
  }
  return std::nullopt;
}

OwnImage bake_image(Services& services, const Bake& wanted) {
  Bake bake = wanted;
  state::Intent intent = written_down(services, bake);
  bake.request.token = intent.token;
  fault_point("bake:written");
  const std::string& node = bake.node.name.value;
  services.set_interrupt_hint("image " + bake.request.name + " is incomplete, and keys of " + node +
                              " are only in its memory; repeat the command to continue");
  std::optional<OwnImage> image;
  try {
    services.messages().progress("hiding keys of " + node + " in its memory");
    run_on(services, bake.cluster, bake.node, hide_secrets_command(bake.node), "hide its keys",
           services.cancel());
    fault_point("bake:hidden");
    image = make(services, bake, note_asking(services, intent));
  } catch (const Error& e) {
    services.messages().end_progress();
    if (may_come(e)) throw with_way_on(e, bake);
    restore_secrets(services, bake.cluster, bake.node);
    services.store().close_intent(intent.id);
    throw;
  }
  fault_point("bake:made");
  services.messages().progress("putting " + node + " back");
  restore_secrets(services, bake.cluster, bake.node);
  fault_point("bake:restored");
  services.store().close_intent(intent.id);
  services.messages().end_progress();
  return *image;
}

void end_other_bakes(Services& services, const state::Cluster& cluster,
                     const std::string& made_of) {
  for (const state::Intent& intent : open_bakes(services, cluster.id)) {
    const auto request = image_request_of(intent, cluster);
    if (request.marks.made_of == made_of) continue;
    if (!end_bake(services, cluster, intent))
      throw Error(ErrorKind::conflict, "image " + request.name + " is still being created from " +
                                           intent.subject +
                                           ": wait until `fastgpu get images "
                                           "--mine` shows it as available");
  }
}

void put_bakes_back(Services& services, const provision::Tools& tools, const ClusterName& name) {
  const auto cluster = services.store().find_cluster(name);
  if (!cluster || open_bakes(services, cluster->id).empty()) return;
  const provision::HeldCluster held(tools, name);
  for (const state::Intent& intent : open_bakes(services, held.cluster().id)) {
    const std::string what = "putting " + intent.subject + " back after an unfinished image";
    services.messages().progress(what);
    try {
      end_bake(services, held.cluster(), intent);
    } catch (const Error& e) {
      throw e.during(what);
    }
    services.messages().end_progress();
  }
}

std::vector<NodeName> baked_nodes(Services& services, const state::ClusterId& cluster) {
  std::vector<NodeName> nodes;
  for (const state::Intent& intent : open_bakes(services, cluster))
    nodes.push_back({intent.subject});
  return nodes;
}

std::vector<std::string> unfinished_images(Services& services, const state::ClusterId& cluster) {
  std::vector<std::string> names;
  for (const state::Intent& intent : open_bakes(services, cluster))
    if (const state::ImageOrder order = order_of(intent); order.was_asked)
      names.push_back(order.name);
  return names;
}

std::vector<provision::Settled> settle_bakes(Services& services, bool dry_run) {
  std::vector<provision::Settled> all;
  for (const state::Intent& intent : services.store().open_intents()) {
    if (intent.action != provision::kBakeImage) continue;
    const auto cluster = services.store().find_cluster(intent.cluster);
    if (!cluster) continue;  // Journal entries without a cluster are skipped.
    if (!state::ClusterLock::try_lock(services.store(), cluster->name)) continue;
    all.push_back(settle(services, intent, *cluster, dry_run));
  }
  return all;
}

}  // namespace fastgpu::cli
