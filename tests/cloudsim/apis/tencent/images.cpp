// Images that all accounts can launch from, and images that an account has made.
#include "cloudsim/world/images.hpp"
#include "base/contains.hpp"

#include "cloudsim/apis/tencent/call.hpp"

namespace fastgpu::cloudsim::tencent {
namespace {

/// An image with the fields that only an account's own images have.
struct Listed {
  Image image;
  std::string state = "NORMAL";
  std::string type = "PUBLIC_IMAGE";
  Tags tags{};
};

const char* state_name(ImageStage stage) {
  switch (stage) {
    case ImageStage::creating:
      return "CREATING";
    case ImageStage::ready:
      return "NORMAL";
    case ImageStage::failed:
      return "CREATEFAILED";
  }
  return "";
}

std::vector<Listed> listed_images(const TencentCall& call) {
  std::vector<Listed> all;
  for (const Image& image : call.catalogue().images)
    all.push_back({.image = image});
  for (const Resource* own : images_made(call.world, call.scope))
    all.push_back({.image = image_of(*own),
                   .state = state_name(stage_of(call.world, *own)),
                   .type = "PRIVATE_IMAGE",
                   .tags = own->tags});
  return all;
}

bool is_wanted(const TencentCall& call, const Listed& one) {
  const std::vector<std::string> ids = call.list("ImageIds");
  const MachineType* type = call.catalogue().type(call.text("InstanceType"));
  const bool fits = type == nullptr || type->architecture == one.image.architecture;
  const bool named = ids.empty() || contains(ids, one.image.id);
  const Facts facts = {{"image-id", {one.image.id}},
                       {"image-type", {one.type}},
                       {"image-name", {one.image.name}},
                       {"platform", {"Ubuntu"}}};
  return named && fits && passes(call, facts, one.tags);
}

Json describe_images(const TencentCall& call) {
  check_one_of(call, "ImageIds");
  std::vector<Json> items;
  for (const Listed& one : listed_images(call))
    if (is_wanted(call, one))
      items.push_back({{"ImageId", one.image.id},
                       {"OsName", one.image.name},
                       {"ImageType", one.type},
                       {"CreatedTime", one.image.created},
                       {"ImageName", one.image.name},
                       {"ImageSize", one.image.disk_gb},
                       {"Architecture", one.image.architecture},
                       {"ImageState", one.state},
                       {"Platform", "Ubuntu"},
                       {"IsSupportCloudinit", true},
                       {"Tags", tag_list(one.tags)}});
  return paged(call, "ImageSet", items, Numbers::whole);
}

Json create_image(const TencentCall& call) {
  const std::string name = call.text("ImageName");
  if (name.empty() || name.size() > 60)
    throw violation("InvalidParameterValue.TooLong", "ImageName has 1 to 60 characters.");
  const std::string power_off = call.text("ForcePoweroff", "false");
  if (power_off != "false")
    throw violation("InvalidParameterValue", "nobody here powers an instance off unasked");
  const std::string instance = call.text("InstanceId");
  if (call.world.find_instance(call.scope, instance) == nullptr)
    throw refusal("InvalidInstanceId.NotFound", "The instance `" + instance + "` is not found.");
  if (call.body.value("DryRun", false)) return Json::object();
  try {
    const Resource& image = make_image(call.world, {.scope = call.scope,
                                                    .instance = instance,
                                                    .id = call.world.new_id("img-", 8),
                                                    .name = name,
                                                    .tags = specified_tags(call, "image"),
                                                    .snapshot = call.world.new_id("snap-", 8),
                                                    .snapshot_stays = true});
    return {{"ImageId", image.id}};
  } catch (const ApiFailure& failure) {
    if (failure.kind() != ApiFailureKind::duplicate) throw;
    throw refusal("InvalidImageName.Duplicate", "The image name `" + name + "` is taken.");
  }
}

Json delete_images(const TencentCall& call) {
  std::vector<Resource*> images;
  for (const std::string& id : call.list("ImageIds")) {
    images.push_back(call.world.find(call.scope, "image", id));
    if (images.back() == nullptr)
      throw refusal("InvalidImageId.NotFound", "The image `" + id + "` is not found.");
    if (stage_of(call.world, *images.back()) == ImageStage::creating)
      throw refusal("InvalidImageId.IncorrectState", "The image `" + id + "` is being made.");
  }
  for (Resource* image : images) {
    call.world.remove(*image);
    if (call.body.value("DeleteBindedSnap", false))
      call.world.remove(*call.world.find(call.scope, "snapshot", image->data.at("snapshot")));
  }
  return Json::object();
}

constexpr TencentAction kImagesActions[] = {
    {"cvm", "DescribeImages",
     "ImageIds Filters:image-id,image-type,image-name,platform Offset Limit InstanceType",
     describe_images},
    {"cvm", "CreateImage",
     "ImageName! InstanceId! ImageDescription ForcePoweroff DryRun TagSpecification ImageFamily",
     create_image},
    {"cvm", "DeleteImages", "ImageIds! DeleteBindedSnap DryRun", delete_images},
};

}  // namespace

std::span<const TencentAction> image_actions() {
  return kImagesActions;
}

}  // namespace fastgpu::cloudsim::tencent
