#include "cloudsim/world/images.hpp"

#include <algorithm>

#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim {
namespace {

constexpr const char* kKind = "image";
constexpr int kSystemDiskGb = 40;

void refuse_name(SimulatedWorld& world, const ImageOrder& order) {
  for (const Resource* other : world.resources_of(order.scope, kKind))
    if (other->name == order.name)
      throw ApiFailure(ApiFailureKind::duplicate, order.name,
                       "image " + other->id + " has that name");
}

const Instance& instance_of(SimulatedWorld& world, const ImageOrder& order) {
  const Instance* instance = world.find_instance(order.scope, order.instance);
  if (instance == nullptr)
    throw ApiFailure(ApiFailureKind::not_found, order.instance, "there is no " + order.instance);
  if (instance->state != State::running && instance->state != State::stopped)
    throw ApiFailure(ApiFailureKind::wrong_state, order.instance,
                     "it is neither running nor stopped");
  return *instance;
}

}  // namespace

Resource& make_image(SimulatedWorld& world, const ImageOrder& order) {
  const Instance& instance = instance_of(world, order);
  if (order.name_is_unique) refuse_name(world, order);
  const auto below = image_for(world, order.scope, instance.image);
  Resource& image = world.add(order.scope, kKind, order.id);
  image.name = order.name;
  image.tags = order.tags;
  image.data = {{"instance", instance.id},
                {"architecture", below ? below->architecture : "x86_64"},
                {"disk_gb", std::max(kSystemDiskGb, below ? below->disk_gb : 0)},
                {"snapshot", order.snapshot},
                {"copying", world.machines != nullptr},
                {"fails", world.image_failures > 0}};
  if (world.image_failures > 0) --world.image_failures;
  if (!order.snapshot.empty()) {
    Resource& snapshot = world.add(order.scope, "snapshot", order.snapshot);
    snapshot.uses = {};
    image.uses = {order.snapshot};
    if (!order.snapshot_stays) snapshot.part_of = order.id;
  }
  if (world.machines != nullptr) world.machines->keep_image(instance, order.id);
  return image;
}

void remove_image(SimulatedWorld& world, Resource& image) {
  if (stage_of(world, image) == ImageStage::creating)
    throw ApiFailure(ApiFailureKind::wrong_state, image.id, "it is still being made");
  world.remove(image);
}

ImageStage stage_of(const SimulatedWorld& world, const Resource& image) {
  const bool is_young = world.now() < image.created + world.settings.image;
  if (is_young || image.data.at("copying")) return ImageStage::creating;
  return image.data.at("fails") ? ImageStage::failed : ImageStage::ready;
}

std::vector<Resource*> images_made(SimulatedWorld& world, const Scope& scope) {
  std::vector<Resource*> found;
  for (Resource* image : world.resources_of(scope, kKind))
    if (image->created + world.settings.listing_delay <= world.now()) found.push_back(image);
  return found;
}

Image image_of(const Resource& image) {
  return {.id = image.id,
          .name = image.name,
          .owner = image.scope.account,
          .created = iso_time(image.created),
          .parameter = {},
          .architecture = image.data.at("architecture"),
          .disk_gb = image.data.at("disk_gb")};
}

std::vector<Image> images_for(SimulatedWorld& world, const Scope& scope) {
  std::vector<Image> all = world.catalogues.at(scope.vendor).images;
  for (const Resource* image : images_made(world, scope))
    if (stage_of(world, *image) == ImageStage::ready) all.push_back(image_of(*image));
  return all;
}

std::optional<Image> image_for(SimulatedWorld& world, const Scope& scope, const std::string& id) {
  for (Image& image : images_for(world, scope))
    if (image.id == id) return std::move(image);
  return std::nullopt;
}

}  // namespace fastgpu::cloudsim
