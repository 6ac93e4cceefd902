// Images that we make on Alibaba Cloud. The removal of an image leaves its snapshots, which get a
// tag with the image's identity beforehand and are removed one by one.
#include "provision/providers/alibaba/alibaba_cloud.hpp"

namespace fastgpu::provision::alibaba {
namespace {

using cloud::ImageState;
using cloud::OwnImage;

/// All states: by default only available images are listed.
constexpr const char* kStates = "Creating,Waiting,Available,UnAvailable,CreateFailed";

ImageState state_of(const std::string& state) {
  if (state == "Available") return ImageState::available;
  return state == "Creating" || state == "Waiting" ? ImageState::pending : ImageState::failed;
}

std::string image_tag(const Answer& thing, std::string_view key) {
  for (const Answer& tag : thing["Tags"]["Tag"].items())
    if (tag["TagKey"].text() == key) return tag["TagValue"].text();
  return {};
}

cloud::ImageMarks marks_of(const Answer& thing) {
  return cloud::image_marks([&](std::string_view key) { return image_tag(thing, key); });
}

OwnImage own_image(const Answer& item) {
  const std::string state = item["Status"].text();
  OwnImage own{.image = {.id = item["ImageId"].text(),
                         .name = item["ImageName"].text(),
                         .architecture = item["Architecture"].text(),
                         .created = item["CreationTime"].text()},
               .state = state_of(state),
               .marks = marks_of(item)};
  if (own.state == ImageState::failed) own.failure = state;
  for (const Answer& disk : item["DiskDeviceMappings"]["DiskDeviceMapping"].items())
    if (std::string snapshot = disk["SnapshotId"].text(); !snapshot.empty())
      own.snapshots.push_back(std::move(snapshot));
  return own;
}

OwnImage left_snapshot(const Answer& item) {
  const std::string id = item["SnapshotId"].text();
  return {
      .image = {.id = id, .name = {}, .architecture = {}, .created = item["CreationTime"].text()},
      .state = ImageState::failed,
      .failure = "left of " + image_tag(item, cloud::kLeftTag),
      .marks = marks_of(item),
      .snapshots = {id}};
}

void add_tags(Parameters& parameters,
              const std::vector<std::pair<std::string_view, std::string>>& tags) {
  int n = 0;
  for (const auto& [key, value] : tags) {
    const std::string tag = "Tag." + std::to_string(++n);
    parameters.emplace_back(tag + ".Key", key);
    parameters.emplace_back(tag + ".Value", value);
  }
}

}  // namespace

std::vector<OwnImage> AlibabaCloud::own_images(const std::string& region, const Cancel& cancel) {
  std::vector<OwnImage> found;
  api_.pages(
      {.region = region,
       .action = "DescribeImages",
       .parameters = {{"ImageOwnerAlias", "self"},
                      {"Status", kStates},
                      {"Tag.1.Key", std::string(cloud::kImageTag)},
                      {"PageSize", "100"}},
       .doing = "listing our images in " + region},
      [&](const Answer& page) {
        for (const Answer& item : page["Images"]["Image"].items())
          if (!item["ImageId"].text().empty()) found.push_back(own_image(item));
      },
      cancel);
  api_.pages(
      {.region = region,
       .action = "DescribeSnapshots",
       .parameters = {{"Tag.1.Key", std::string(cloud::kLeftTag)}, {"PageSize", "100"}},
       .doing = "listing what is left of our images in " + region},
      [&](const Answer& page) {
        for (const Answer& item : page["Snapshots"]["Snapshot"].items())
          if (!item["SnapshotId"].text().empty()) found.push_back(left_snapshot(item));
      },
      cancel);
  return found;
}

void AlibabaCloud::make_image(const cloud::ImageRequest& request, const Cancel& cancel) {
  AlibabaCall call{.region = request.region,
                   .action = "CreateImage",
                   .parameters = {{"InstanceId", request.machine},
                                  {"ImageName", request.name},
                                  {"ClientToken", request.token}},
                   .doing = "making image " + request.name + " of " + request.machine};
  add_tags(call.parameters, cloud::pairs_of(request.marks));
  api_.call(call, cancel);
}

void AlibabaCloud::remove_image(const std::string& region, const OwnImage& image) {
  const std::string& id = image.image.id;
  const bool is_image = image.snapshots != std::vector{id};
  // Only the image names its snapshots: without it they could not be found.
  if (image.snapshots.empty() && image.state == ImageState::available)
    throw Error(ErrorKind::remote,
                "alibaba: image " + id +
                    " is available, but the cloud lists no snapshot of it, and the removal would "
                    "leave the snapshot behind: try again, or remove both in the console");
  if (is_image && !image.snapshots.empty()) {
    AlibabaCall call{.region = region,
                     .action = "TagResources",
                     .parameters = {{"ResourceType", "snapshot"}},
                     .doing = "marking the snapshots of image " + id};
    cloud::add_list(call.parameters, "ResourceId", image.snapshots);
    auto tags = cloud::pairs_of(image.marks);
    tags.emplace_back(cloud::kLeftTag, id);
    add_tags(call.parameters, tags);
    api_.call(call, never_);
  }
  if (is_image)
    api_.call({.region = region,
               .action = "DeleteImage",
               .parameters = {{"ImageId", id}, {"Force", "true"}},
               .doing = "removing image " + id},
              never_);
  for (const std::string& snapshot : image.snapshots)
    api_.call({.region = region,
               .action = "DeleteSnapshot",
               .parameters = {{"SnapshotId", snapshot}, {"Force", "true"}},
               .doing = "removing snapshot " + snapshot},
              never_);
}

}  // namespace fastgpu::provision::alibaba
