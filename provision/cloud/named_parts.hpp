// The images, key pairs and networks that the user names. They exist in some regions only, and a
// cluster is only planned where they exist.
#pragma once

#include <span>

#include "provision/cloud/cloud.hpp"
#include "provision/cloud/survey.hpp"

namespace fastgpu::provision::cloud {

/// Moves offers to the unusable ones if their region lacks the image or a key pair that `spec`
/// names, or if their zone has no subnet of the network. A region that cannot be asked keeps its
/// offers. Throws the first not_found if no offer is left.
RankedOffers with_named_parts(RankedOffers ranked, std::span<Cloud* const> clouds,
                              const state::CloudSpec& spec, const Cancel& cancel);

}  // namespace fastgpu::provision::cloud
