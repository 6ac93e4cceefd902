// Images that customers make from their instances. They are resources that need some time to become
// complete.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

enum class ImageStage : std::uint8_t { creating, ready, failed };

struct ImageOrder {
  Scope scope;
  std::string instance, id, name;
  Tags tags;
  std::string snapshot;  ///< The id of the image's snapshot; empty if the vendor does not show one.
  bool snapshot_stays = false;  ///< The snapshot stays when the image is removed.
  bool name_is_unique = true;
};

/// Creates an image. Throws ApiFailure: duplicate for a name that is taken, wrong_state for an
/// instance whose disk cannot be copied now.
Resource& make_image(SimulatedWorld& world, const ImageOrder& order);

/// Removes an image. Throws ApiFailure wrong_state if it is still being made.
void remove_image(SimulatedWorld& world, Resource& image);

ImageStage stage_of(const SimulatedWorld& world, const Resource& image);

/// Returns the images that reads show already.
std::vector<Resource*> images_made(SimulatedWorld& world, const Scope& scope);

/// Returns the images that instances can be launched from: the vendor's, and the customer's
/// complete ones.
std::vector<Image> images_for(SimulatedWorld& world, const Scope& scope);
std::optional<Image> image_for(SimulatedWorld& world, const Scope& scope, const std::string& id);

/// Returns a customer's image in the form of the catalogue's images.
Image image_of(const Resource& image);

}  // namespace fastgpu::cloudsim
