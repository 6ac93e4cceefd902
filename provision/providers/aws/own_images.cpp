// Images that we make on AWS.
#include "provision/providers/aws/aws_cloud.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::ImageState;
using cloud::OwnImage;

ImageState state_of(const std::string& state) {
  if (state == "available") return ImageState::available;
  return state == "pending" || state == "transient" ? ImageState::pending : ImageState::failed;
}

std::string image_tag(const pugi::xml_node& image, std::string_view key) {
  for (const pugi::xml_node& tag : items(image, "tagSet"))
    if (tag.child_value("key") == key) return tag.child_value("value");
  return {};
}

OwnImage own_image(const pugi::xml_node& item) {
  OwnImage own{
      .image = {.id = item.child_value("imageId"),
                .name = item.child_value("name"),
                .architecture = item.child_value("architecture"),
                .created = item.child_value("creationDate")},
      .state = state_of(item.child_value("imageState")),
      .marks = cloud::image_marks([&](std::string_view key) { return image_tag(item, key); })};
  if (own.state == ImageState::failed)
    own.failure = item.child("stateReason").child_value("message");
  return own;
}

void add_tags(Parameters& parameters, int specification, const char* type,
              const cloud::ImageMarks& marks) {
  const std::string prefix = "TagSpecification." + std::to_string(specification);
  parameters.emplace_back(prefix + ".ResourceType", type);
  int n = 0;
  for (const auto& [key, value] : cloud::pairs_of(marks)) {
    const std::string tag = prefix + ".Tag." + std::to_string(++n);
    parameters.emplace_back(tag + ".Key", key);
    parameters.emplace_back(tag + ".Value", value);
  }
}

}  // namespace

std::vector<OwnImage> AwsCloud::own_images(const std::string& region, const Cancel& cancel) {
  Ec2Call call{.region = region,
               .action = "DescribeImages",
               .parameters = {{"Owner.1", "self"}},
               .doing = "listing our images in " + region};
  add_filter(call.parameters, 1, "tag-key", {std::string(cloud::kImageTag)});
  std::vector<OwnImage> found;
  ec2_.pages(
      call,
      [&](const pugi::xml_node& root) {
        for (const pugi::xml_node& item : items(root, "imagesSet"))
          if (*item.child_value("imageId") != '\0') found.push_back(own_image(item));
      },
      cancel);
  return found;
}

/// Makes an image. Its name serves as the token, because image names are unique in a region of an
/// account.
void AwsCloud::make_image(const cloud::ImageRequest& request, const Cancel& cancel) {
  Ec2Call call{
      .region = request.region,
      .action = "CreateImage",
      .parameters = {{"InstanceId", request.machine}, {"Name", request.name}, {"NoReboot", "true"}},
      .doing = "making image " + request.name + " of " + request.machine};
  add_tags(call.parameters, 1, "image", request.marks);
  add_tags(call.parameters, 2, "snapshot", request.marks);
  ec2_.call(call, cancel);
}

void AwsCloud::remove_image(const std::string& region, const OwnImage& image) {
  const Ec2Call call{
      .region = region,
      .action = "DeregisterImage",
      .parameters = {{"ImageId", image.image.id}, {"DeleteAssociatedSnapshots", "true"}},
      .doing = "removing image " + image.image.id};
  const auto failure = ec2_.try_call(call, never_);
  if (failure && failure->kind != cloud::FailureKind::not_found)
    throw cloud::error_of(*failure, "aws: " + call.doing);
}

}  // namespace fastgpu::provision::aws
