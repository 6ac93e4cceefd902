#include "provision/gc.hpp"

#include <filesystem>
#include <set>
#include <system_error>

#include "base/join.hpp"
#include "base/outcome.hpp"
#include "provision/bring_up.hpp"
#include "provision/cluster_keys.hpp"
#include "provision/journal.hpp"
#include "provision/providers.hpp"
#include "state/lock.hpp"

namespace fastgpu::provision {
namespace {

namespace fs = std::filesystem;
using state::Cluster;
using state::ClusterId;

bool is_free(const Tools& tools, const ClusterName& name) {
  return state::ClusterLock::try_lock(tools.store, name).has_value();
}

/// Returns the results that settle would have. Changes nothing.
std::vector<Settled> unfinished(const Tools& tools) {
  std::set<ClusterId> ids;
  for (const state::Intent& intent : tools.store.open_intents())
    if (is_ours(intent)) ids.insert(intent.cluster);
  std::vector<Settled> found;
  for (const ClusterId& id : ids) {
    const std::optional<Cluster> cluster = tools.store.find_cluster(id);
    if (!cluster || !is_free(tools, cluster->name)) continue;
    for (const state::Intent& intent : our_intents(tools.store, id))
      found.push_back({cluster->name.value, "unfinished " + intent.action + " " + intent.subject});
  }
  return found;
}

void close_ownerless_intents(const Tools& tools, GcMode mode, std::vector<Settled>& items) {
  for (const state::Intent& intent : tools.store.open_intents()) {
    if (tools.store.find_cluster(intent.cluster)) continue;
    items.push_back(
        {intent.cluster.value, "journal entry " + intent.action + " " + intent.subject});
    if (mode == GcMode::remove) tools.store.close_intent(intent.id);
  }
}

/// Removes one orphan. A cluster is on record before any resource has its mark. If the cluster is
/// on record by now, the orphan has an owner and is left alone.
void remove_one(const Tools& tools, Provider& provider, const Orphan& orphan, GcMode mode,
                std::vector<Settled>& items) {
  if (tools.store.find_cluster(orphan.cluster)) return;
  items.push_back({orphan.cluster.value, "orphan " + to_text(orphan)});
  if (mode == GcMode::remove)
    items.back().outcome = attempt([&] { provider.remove_orphan(orphan); });
}

void remove_orphans(const Tools& tools, const std::string& name, GcMode mode,
                    std::vector<Settled>& items) try {
  std::vector<ClusterId> known;
  std::string on_record;
  for (const Cluster& cluster : tools.store.clusters()) {
    known.push_back(cluster.id);
    if (cluster.provider == name) append_item(on_record, cluster.name.value);
  }
  Provider& provider = tools.providers(name);
  const Orphans orphans = ask(tools, "looking for orphans of provider " + name,
                              [&] { return provider.orphans(known); });
  for (const Orphan& orphan : orphans.found)
    remove_one(tools, provider, orphan, mode, items);
  for (const Error& failure : orphans.failures)
    items.push_back({"", "looking for orphans of provider " + name, failure});
  if (orphans.not_asked && !on_record.empty())
    items.push_back({on_record, "looking for orphans of provider " + name, *orphans.not_asked});
} catch (const Error& e) {
  items.push_back({"", "looking for orphans of provider " + name, e});
}

/// Removes key files of clusters that are gone. A cluster is on record before it has files, too.
void remove_files(const Tools& tools, GcMode mode, std::vector<Settled>& items) {
  const fs::path place = tools.store.directory() / "clusters";
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(place, none)) {
    const ClusterId id{entry.path().filename().string()};
    if (tools.store.find_cluster(id)) continue;
    items.push_back({id.value, "files " + entry.path().string()});
    if (mode == GcMode::remove)
      items.back().outcome = attempt([&] { remove_key_files(tools.store.directory(), id); });
  }
}

}  // namespace

std::vector<Settled> collect_garbage(const Tools& tools, GcMode mode) {
  std::vector<Settled> items =
      mode == GcMode::look ? unfinished(tools) : settle(tools, HalfMade::remove);
  close_ownerless_intents(tools, mode, items);
  for (const ProviderInfo& provider : provider_table())
    remove_orphans(tools, std::string(provider.name), mode, items);
  remove_files(tools, mode, items);
  return items;
}

}  // namespace fastgpu::provision
