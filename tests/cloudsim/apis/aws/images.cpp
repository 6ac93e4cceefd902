// Images that all accounts can launch from, and images that an account has made from its instances.
#include "cloudsim/world/images.hpp"
#include "base/contains.hpp"

#include <algorithm>

#include "cloudsim/apis/aws/ec2.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

/// An image with the fields that only an account's own images have.
struct Listed {
  Image image;
  std::string state = "available";
  bool is_own = false;
  Tags tags{};
  std::string snapshot{};
};

const char* state_name(ImageStage stage) {
  switch (stage) {
    case ImageStage::creating:
      return "pending";
    case ImageStage::ready:
      return "available";
    case ImageStage::failed:
      return "failed";
  }
  return "";
}

std::vector<Listed> listed_images(const Ec2Call& call) {
  std::vector<Listed> all;
  for (const Image& image : call.catalogue().images)
    all.push_back({.image = image});
  for (const Resource* own : images_made(call.world, call.scope))
    all.push_back({.image = image_of(*own),
                   .state = state_name(stage_of(call.world, *own)),
                   .is_own = true,
                   .tags = own->tags,
                   .snapshot = own->data.at("snapshot")});
  return all;
}

bool is_wanted(const Ec2Call& call, const Listed& one) {
  const std::vector<std::string> ids = call.params.list("ImageId");
  const std::vector<std::string> owners = call.params.list("Owner");
  const Image& image = one.image;
  if (!ids.empty() && !contains(ids, image.id)) return false;
  const auto is_owner = [&](const std::string& owner) {
    return owner == image.owner || (owner == "self" && one.is_own);
  };
  if (!owners.empty() && std::ranges::none_of(owners, is_owner)) return false;
  const Facts facts = {{"name", {image.name}},
                       {"architecture", {image.architecture}},
                       {"state", {one.state}},
                       {"image-id", {image.id}},
                       {"owner-alias", {image.owner}},
                       {"owner-id", {image.owner}},
                       {"root-device-type", {"ebs"}},
                       {"virtualization-type", {"hvm"}},
                       {"is-public", {one.is_own ? "false" : "true"}},
                       {"image-type", {"machine"}}};
  return passes(call.params, facts, one.tags);
}

Json shape(const Listed& one) {
  Json disk = {{"volumeSize", one.image.disk_gb}};
  if (!one.snapshot.empty()) disk["snapshotId"] = one.snapshot;
  Json out = {{"imageId", one.image.id},
              {"name", one.image.name},
              {"imageState", one.state},
              {"imageOwnerId", one.image.owner},
              {"architecture", one.image.architecture},
              {"creationDate", one.image.created},
              {"rootDeviceName", "/dev/sda1"},
              {"blockDeviceMapping", {{{"deviceName", "/dev/sda1"}, {"ebs", disk}}}}};
  if (one.is_own) out["tagSet"] = tag_set(one.tags);
  if (one.state == "failed")
    out["stateReason"] = {{"code", "Client.InternalError"}, {"message", "the snapshot failed"}};
  return out;
}

Json describe_images(const Ec2Call& call) {
  const std::vector<Listed> all = listed_images(call);
  for (const std::string& id : call.params.list("ImageId"))
    if (std::ranges::none_of(all, [&](const Listed& one) { return one.image.id == id; }))
      throw Refusal(400, "InvalidAMIID.NotFound", "The image id '[" + id + "]' does not exist");
  std::vector<Json> items;
  for (const Listed& one : all)
    if (is_wanted(call, one)) items.push_back(shape(one));
  const Page part = page(call.params, items.size(), 5, 1000);
  Json out = {{"imagesSet", Json::array()}};
  for (std::size_t i = part.begin; i < part.end; ++i)
    out["imagesSet"].push_back(items[i]);
  if (!part.next.empty()) out["nextToken"] = part.next;
  return out;
}

/// Throws unless the name has only letters, digits and ()[] ./-'@_
void check_name(const std::string& name) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("()[] ./-'@_").find(char(c)) != std::string::npos;
  };
  if (name.size() < 3 || name.size() > 128 || !std::ranges::all_of(name, fits))
    throw ProtocolViolation(400, "InvalidAMIName.Malformed",
                            "AMI names have 3 to 128 characters of those");
}

Json create_image(const Ec2Call& call) {
  const std::string name = call.params.get("Name");
  check_name(name);
  const Instance& of = instance(call, call.params.get("InstanceId"));
  if (!call.params.flag("NoReboot"))
    throw ProtocolViolation(400, "InvalidParameterValue",
                            "nobody here reboots an instance unasked");
  stop_if_dry_run(call.params);
  try {
    const Resource& image = make_image(call.world, {.scope = call.scope,
                                                    .instance = of.id,
                                                    .id = call.world.new_id("ami-", 17),
                                                    .name = name,
                                                    .tags = tags_for(call.params, "image"),
                                                    .snapshot = call.world.new_id("snap-", 17),
                                                    .snapshot_stays = true});
    call.world.find(call.scope, "snapshot", image.data.at("snapshot"))->tags =
        tags_for(call.params, "snapshot");
    return {{"imageId", image.id}};
  } catch (const ApiFailure& failure) {
    if (failure.kind() != ApiFailureKind::duplicate) throw;
    throw Refusal(400, "InvalidAMIName.Duplicate",
                  "AMI name " + name + " is already in use (" + failure.what() + ")");
  }
}

Json deregister_image(const Ec2Call& call) {
  Resource& image = resource(call, "image", call.params.get("ImageId"));
  call.world.remove(image);
  if (call.params.flag("DeleteAssociatedSnapshots"))
    call.world.remove(*call.world.find(call.scope, "snapshot", image.data.at("snapshot")));
  return ok();
}

constexpr Ec2Action kImagesActions[] = {
    {"DescribeImages",
     "ImageId Owner "
     "Filter:name,architecture,state,image-id,owner-alias,owner-id,root-device-type,virtualization-"
     "type,is-public,image-type ExecutableBy IncludeDeprecated IncludeDisabled MaxResults "
     "NextToken",
     describe_images},
    {"CreateImage",
     "InstanceId! Name! Description NoReboot BlockDeviceMapping TagSpecification "
     "SnapshotLocation",
     create_image},
    {"DeregisterImage", "ImageId! DeleteAssociatedSnapshots", deregister_image},
};

}  // namespace

std::span<const Ec2Action> image_actions() {
  return kImagesActions;
}

}  // namespace fastgpu::cloudsim::aws
