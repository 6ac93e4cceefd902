// Images that all accounts can launch from, images that an account has made, and their snapshots.
#include "cloudsim/world/images.hpp"
#include "base/contains.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "cloudsim/apis/alibaba/call.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

/// An image with the fields that only an account's own images have.
struct Listed {
  Image image;
  std::string status = "Available";
  std::string owner;
  Tags tags{};
  std::string snapshot{};
};

const char* status_name(ImageStage stage) {
  switch (stage) {
    case ImageStage::creating:
      return "Creating";
    case ImageStage::ready:
      return "Available";
    case ImageStage::failed:
      return "CreateFailed";
  }
  return "";
}

std::vector<Listed> listed_images(const AlibabaCall& call) {
  std::vector<Listed> all;
  for (const Image& image : call.catalogue().images)
    all.push_back({.image = image, .owner = image.owner});
  for (const Resource* own : images_made(call.world, call.scope))
    all.push_back({.image = image_of(*own),
                   .status = status_name(stage_of(call.world, *own)),
                   .owner = "self",
                   .tags = own->tags,
                   .snapshot = own->data.at("snapshot")});
  return all;
}

bool is_wanted(const AlibabaCall& call, const Listed& one) {
  const std::pair<const char*, std::string> facts[] = {{"ImageId", one.image.id},
                                                       {"ImageFamily", one.image.parameter},
                                                       {"ImageOwnerAlias", one.owner},
                                                       {"Architecture", one.image.architecture},
                                                       {"OSType", "linux"}};
  for (const auto& [name, value] : facts)
    if (call.params.get(name, value) != value) return false;
  const auto statuses = split(call.params.get("Status", "Available"), ',');
  if (!contains(statuses, one.status)) return false;
  if (!passes_tags(call.params, one.tags)) return false;
  if (const auto* type = call.catalogue().type(call.params.get("InstanceType")))
    if (type->architecture != one.image.architecture) return false;
  return fnmatch(call.params.get("ImageName", "*").c_str(), one.image.name.c_str(), 0) == 0;
}

Json shape(const Listed& one) {
  Json out = {{"ImageId", one.image.id},
              {"ImageName", one.image.name},
              {"ImageFamily", one.image.parameter},
              {"ImageOwnerAlias", one.owner},
              {"Architecture", one.image.architecture},
              {"CreationTime", one.image.created},
              {"Size", one.image.disk_gb},
              {"OSType", "linux"},
              {"Status", one.status},
              {"Usable", one.status == "Available"},
              {"Tags", ecs_tags(one.tags)}};
  if (!one.snapshot.empty())
    out["DiskDeviceMappings"] = {
        {"DiskDeviceMapping",
         Json::array({{{"Device", "/dev/xvda"}, {"SnapshotId", one.snapshot}}})}};
  return out;
}

Json describe_images(const AlibabaCall& call) {
  std::vector<Json> items;
  for (const Listed& one : listed_images(call))
    if (is_wanted(call, one)) items.push_back(shape(one));
  return paged(call, "Images", "Image", items, 100);
}

/// Throws unless the name has only letters, digits and ".-_:", and begins with a letter.
void check_name(const std::string& name) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
  };
  if (name.size() < 2 || name.size() > 128 ||
      std::isalpha(static_cast<unsigned char>(name[0])) == 0 || !std::ranges::all_of(name, fits))
    throw ProtocolViolation(400, "InvalidImageName.Malformed",
                            "The ImageName " + name + " is malformed.");
}

Json create_image(const AlibabaCall& call) {
  if (const Resource* before = made_before(call, "image")) return {{"ImageId", before->id}};
  const std::string name = call.params.get("ImageName");
  check_name(name);
  const Instance& of = instance(call, call.params.get("InstanceId"));
  stop_if_dry_run(call.params, "DryRunOperation");
  try {
    Resource& image = make_image(call.world, {.scope = call.scope,
                                              .instance = of.id,
                                              .id = call.world.new_id("m-", 20),
                                              .name = name,
                                              .tags = read_tags(call.params),
                                              .snapshot = call.world.new_id("s-", 20),
                                              .snapshot_stays = true});
    image.data["token"] = call.params.get("ClientToken");
    return {{"ImageId", image.id}};
  } catch (const ApiFailure& failure) {
    if (failure.kind() != ApiFailureKind::duplicate) throw;
    throw Refusal(400, "InvalidImageName.Duplicated",
                  "The specified Image name " + name + " has already been used.");
  }
}

/// Deletes an image. A missing one is not an error.
Json delete_image(const AlibabaCall& call) {
  const std::string id = call.params.get("ImageId");
  Resource* image = call.world.find(call.scope, "image", id);
  if (image == nullptr) return Json::object();
  const auto uses = [&](const Instance* each) {
    return each->image == id && each->state != State::terminated;
  };
  if (!is_on(call.params, "Force") &&
      std::ranges::any_of(call.world.instances_of(call.scope), uses))
    throw Refusal(403, "ImageUsingByInstance", "The image has been used to create instances.");
  call.world.remove(*image);
  return Json::object();
}

Json describe_snapshots(const AlibabaCall& call) {
  std::vector<Json> items;
  for (const Resource* each : call.world.resources_of(call.scope, "snapshot"))
    if (passes_tags(call.params, each->tags))
      items.push_back(
          {{"SnapshotId", each->id}, {"Status", "accomplished"}, {"Tags", ecs_tags(each->tags)}});
  return paged(call, "Snapshots", "Snapshot", items, 100);
}

Json delete_snapshot(const AlibabaCall& call) {
  const std::string id = call.params.get("SnapshotId");
  Resource* snapshot = call.world.find(call.scope, "snapshot", id);
  if (snapshot == nullptr) return Json::object();
  if (const std::string user = call.world.user_of(id); !user.empty())
    throw Refusal(403, "SnapshotCreatedImage", "The snapshot has been used to create " + user);
  call.world.remove(*snapshot);
  return Json::object();
}

constexpr AlibabaAction kImagesActions[] = {
    {"ecs", "DescribeImages",
     "RegionId! ImageId ImageName ImageFamily ImageOwnerAlias OSType Architecture InstanceType "
     "Status PageNumber PageSize IsSupportCloudinit Tag",
     describe_images},
    {"ecs", "CreateImage",
     "RegionId! InstanceId! ImageName! Description ImageFamily ClientToken Tag DryRun",
     create_image},
    {"ecs", "DeleteImage", "RegionId! ImageId! Force", delete_image},
    {"ecs", "DescribeSnapshots", "RegionId! Tag PageNumber PageSize MaxResults NextToken",
     describe_snapshots},
    {"ecs", "DeleteSnapshot", "RegionId SnapshotId! Force", delete_snapshot},
};

}  // namespace

std::span<const AlibabaAction> image_actions() {
  return kImagesActions;
}

}  // namespace fastgpu::cloudsim::alibaba
