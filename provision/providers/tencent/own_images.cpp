// Images that we make on Tencent Cloud.
#include "provision/providers/tencent/tencent_cloud.hpp"

namespace fastgpu::provision::tencent {
namespace {

using cloud::ImageState;
using cloud::OwnImage;

ImageState state_of(const std::string& state) {
  if (state == "NORMAL" || state == "SYNCING") return ImageState::available;
  return state.ends_with("FAILED") ? ImageState::failed : ImageState::pending;
}

std::string image_tag(const Answer& image, std::string_view key) {
  for (const Answer& tag : image["Tags"].items())
    if (tag["Key"].text() == key) return tag["Value"].text();
  return {};
}

OwnImage own_image(const Answer& item) {
  OwnImage own{
      .image = {.id = item["ImageId"].text(),
                .name = item["ImageName"].text(),
                .architecture = item["Architecture"].text(),
                .created = item["CreatedTime"].text()},
      .state = state_of(item["ImageState"].text()),
      .marks = cloud::image_marks([&](std::string_view key) { return image_tag(item, key); })};
  if (own.state == ImageState::failed) own.failure = item["ImageState"].text();
  return own;
}

}  // namespace

std::vector<OwnImage> TencentCloud::own_images(const std::string& region, const Cancel& cancel) {
  const json filters = json::array({filter("image-type", {"PRIVATE_IMAGE"}),
                                    filter("tag-key", {std::string(cloud::kImageTag)})});
  const auto items = api_.list({.region = region,
                                .action = "DescribeImages",
                                .body = {{"Filters", filters}},
                                .doing = "listing our images in " + region},
                               "ImageSet", cancel);
  std::vector<OwnImage> found;
  for (const JsonAnswer& item : items)
    if (OwnImage own = own_image(Answer(item)); !own.image.id.empty())
      found.push_back(std::move(own));
  return found;
}

/// Requests an image. The name serves as the token, because it must be unique in an account's
/// region.
void TencentCloud::make_image(const cloud::ImageRequest& request, const Cancel& cancel) {
  json tags = json::array();
  for (const auto& [key, value] : cloud::pairs_of(request.marks))
    tags.push_back({{"Key", key}, {"Value", value}});
  const json specification = {{"ResourceType", "image"}, {"Tags", std::move(tags)}};
  api_.call({.region = request.region,
             .action = "CreateImage",
             .body = {{"InstanceId", request.machine},
                      {"ImageName", request.name},
                      {"ForcePoweroff", "false"},
                      {"TagSpecification", json::array({specification})}},
             .doing = "making image " + request.name + " of " + request.machine},
            cancel);
}

void TencentCloud::remove_image(const std::string& region, const OwnImage& image) {
  const TencentCall call{
      .region = region,
      .action = "DeleteImages",
      .body = {{"ImageIds", json::array({image.image.id})}, {"DeleteBindedSnap", true}},
      .doing = "removing image " + image.image.id};
  const auto failure = api_.try_call(call, never_);
  if (failure && failure->kind != cloud::FailureKind::not_found)
    throw cloud::error_of(*failure, "tencent: " + call.doing);
}

}  // namespace fastgpu::provision::tencent
