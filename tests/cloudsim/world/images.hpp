// Images that customers make of their instances: resources that take their time to become whole.
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
  std::string snapshot;  ///< The id of the one that goes with it; empty: the vendor shows none.
  bool snapshot_stays = false;  ///< When the image is removed.
  bool name_is_unique = true;
};

/// Throws Trouble: duplicate for a name that is taken, wrong_state for an instance that has no disk
/// to copy yet or any more.
Resource& make_image(World& world, const ImageOrder& order);

/// Throws Trouble wrong_state while it is being made.
void remove_image(World& world, Resource& image);

ImageStage stage_of(const World& world, const Resource& image);

/// Those that reads know of already.
std::vector<Resource*> images_made(World& world, const Scope& scope);

/// What instances can be launched from: the vendor's images and the customer's own that are whole.
std::vector<Image> images_for(World& world, const Scope& scope);
std::optional<Image> image_for(World& world, const Scope& scope, const std::string& id);

/// One of the customer's own in the words of the catalogue's.
Image image_of(const Resource& image);

}  // namespace fastgpu::cloudsim
