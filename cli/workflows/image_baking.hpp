// Images made of nodes: requested once, with the node's secrets hidden meanwhile and restored
// afterwards, even if a run dies in between.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/workflows/services.hpp"
#include "provision/cloud/make_image.hpp"
#include "provision/settle.hpp"

namespace fastgpu::cli {

/// An image that should be made, or that a run which died has begun to make.
struct Bake {
  state::Cluster cluster{};
  state::Node node{};
  provision::cloud::ImageRequest request{};  ///< The token is made when it is recorded.
  /// The time that the cloud may take.
  std::chrono::milliseconds timeout = provision::cloud::kImageTimeout;
};

/// Returns the cluster's unfinished bake whose image is `made_of` the same content; absent
/// without such a bake.
std::optional<Bake> unfinished_bake(Services& services, const state::Cluster& cluster,
                                    const std::string& made_of);

/// Makes the image, or goes on with it. The caller holds the cluster. After a cancel, and if the
/// cloud does not answer, the node's secrets stay in its memory, because the image may still be
/// made. The same call goes on then.
provision::cloud::OwnImage bake_image(Services& services, const Bake& bake);

/// Restores the nodes of bakes of other images. Throws conflict if such an image is still being
/// made.
void end_other_bakes(Services& services, const state::Cluster& cluster, const std::string& made_of);

/// Restores the nodes of the cluster's interrupted bakes, except for those whose images are still
/// being made. Called before nodes are stopped or removed.
void put_bakes_back(Services& services, const provision::Tools& tools, const ClusterName& name);

/// Returns the nodes of the cluster's interrupted bakes.
std::vector<NodeName> baked_nodes(Services& services, const state::ClusterId& cluster);

/// Returns the names of the images that the cluster's interrupted bakes may have requested. They
/// stay when the cluster is deleted.
std::vector<std::string> unfinished_images(Services& services, const state::ClusterId& cluster);

/// Restores the nodes of interrupted bakes in clusters that are not in use. Skips nodes whose
/// images are still being made. With `dry_run` it only reports them.
std::vector<provision::Settled> settle_bakes(Services& services, bool dry_run);

}  // namespace fastgpu::cli
