#include "provision/providers/local/rootless/rootless_provider.hpp"

#include <utility>

#include "base/file_status.hpp"
#include "provision/providers/local/node_image.hpp"
#include "provision/providers/local/rootless/answers.hpp"
#include "provision/providers/local/rootless/inside.hpp"
#include "provision/providers/local/rootless/prerequisites.hpp"
#include "provision/providers/local/site.hpp"

namespace fastgpu::provision {
namespace {

/// Returns the configuration inside. The calling user is root there, so that the owners of homes
/// are unknown.
local::LocalConfig for_inside(local::LocalConfig config) {
  const std::string found = local::find_system_program("fuse-overlayfs");
  config.fuse_overlayfs = found.empty() ? "/usr/bin/fuse-overlayfs" : found;
  for (const std::filesystem::path& home : local::own_homes())
    config.private_homes.push_back(home);
  return config;
}

}  // namespace

RootlessProvider::RootlessProvider(const local::LocalConfig& config, std::filesystem::path world)
    : LocalProvider(for_inside(config)),
      init_program_(config.init_program),
      folder_(std::move(world)) {}

template <class Work>
std::string RootlessProvider::inside(Work work, const Cancel& cancel) {
  if (!world_) world_ = local::RootlessWorld::open(folder_, init_program_);
  return local::run_inside(*world_, work, cancel);
}

bool RootlessProvider::has_folder(const state::Cluster& cluster) const {
  return path_exists(local::find_cluster_folder(config(), cluster.id.value));
}

void RootlessProvider::check_usable() {
  const local::RootlessFacts facts = local::look_at_machine();
  if (const auto in_the_way = local::obstacles(facts); !in_the_way.empty())
    throw local::refusal_of(facts, in_the_way);
  check_programs();
}

state::Network RootlessProvider::prepare(const state::Cluster& cluster, bool may_be_there) {
  return state::HostNetwork{inside(
      [&](const Cancel&) {
        return std::get<state::HostNetwork>(LocalProvider::prepare(cluster, may_be_there)).range;
      },
      Cancel())};
}

std::vector<HostResult<Instance>> RootlessProvider::create(const state::Cluster& cluster,
                                                           std::span<const NodeRequest> requests,
                                                           const Cancel& cancel) {
  return local::decode_results(inside(
      [&](const Cancel& inner) {
        return local::encode_results(LocalProvider::create(cluster, requests, inner));
      },
      cancel));
}

std::vector<HostResult<Instance>> RootlessProvider::start(const state::Cluster& cluster,
                                                          std::span<const state::Node> nodes,
                                                          const Cancel& cancel) {
  return local::decode_results(inside(
      [&](const Cancel& inner) {
        return local::encode_results(LocalProvider::start(cluster, nodes, inner));
      },
      cancel));
}

std::vector<HostResult<Instance>> RootlessProvider::stop(const state::Cluster& cluster,
                                                         std::span<const state::Node> nodes,
                                                         const Cancel& cancel) {
  return local::decode_results(inside(
      [&](const Cancel& inner) {
        return local::encode_results(LocalProvider::stop(cluster, nodes, inner));
      },
      cancel));
}

std::vector<HostResult<Instance>> RootlessProvider::destroy(const state::Cluster& cluster,
                                                            std::span<const state::Node> nodes) {
  if (!has_folder(cluster)) return LocalProvider::destroy(cluster, nodes);
  return local::decode_results(inside(
      [&](const Cancel&) { return local::encode_results(LocalProvider::destroy(cluster, nodes)); },
      Cancel()));
}

std::optional<Error> RootlessProvider::release(const state::Cluster& cluster,
                                               const ReleaseLimits& limits) {
  if (!has_folder(cluster)) return std::nullopt;
  inside(
      [&](const Cancel&) {
        LocalProvider::release(cluster, limits);
        return std::string();
      },
      Cancel());
  return std::nullopt;
}

void RootlessProvider::remove_orphan(const Orphan& orphan) {
  inside(
      [&](const Cancel&) {
        LocalProvider::remove_orphan(orphan);
        return std::string();
      },
      Cancel());
}

}  // namespace fastgpu::provision
