// Images made of nodes: asked for once, with the node's secrets hidden meanwhile and put back
// afterwards, whatever happens in between.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.hpp"
#include "provision/cloud/make_image.hpp"
#include "provision/settle.hpp"

namespace fastgpu::cli {

/// An image that is to be made, or that a run which died has begun to make.
struct Bake {
  state::Cluster cluster{};
  state::Node node{};
  provision::cloud::ImageWish wish{};  ///< Its token is made when it is written down.
};

/// The unfinished one of the cluster that is made of the same; absent: none is.
std::optional<Bake> unfinished_bake(Context& context, const state::Cluster& cluster,
                                    const std::string& made_of);

/// Makes the image, or goes on with it. The caller holds the cluster. After a cancel and where the
/// cloud gives no answer the node's secrets stay in its memory, for the image may still be made:
/// the same call goes on.
provision::cloud::OwnImage bake_image(Context& context, const Bake& bake);

/// Puts the nodes of other bakes back. Throws conflict where such an image is still being made.
void end_other_bakes(Context& context, const state::Cluster& cluster, const std::string& made_of);

/// The same for clusters that nobody works on. Those whose images are still being made are left.
std::vector<provision::Settled> settle_bakes(Context& context, bool dry_run);

}  // namespace fastgpu::cli
