// Images of Tencent Cloud: by id or name, or the newest that suits.
#include <algorithm>

#include "provision/providers/tencent/tencent_cloud.hpp"

namespace fastgpu::provision::tencent {
namespace {

using cloud::Image;

// Public images with a GPU driver are not available for all types: the environment installs a
// driver.
constexpr const char* kNames = "Ubuntu Server 22.04";
constexpr const char* kArchitecture = "x86_64";

Image image_of(const Answer& item) {
  return {.id = item["ImageId"].text(),
          .name = item["ImageName"].text(),
          .architecture = item["Architecture"].text(),
          .created = item["CreatedTime"].text()};
}

bool is_usual(const Image& image) {
  return image.name.starts_with(kNames) && image.architecture == kArchitecture;
}

json public_images(const std::string& type) {
  json body = {{"Filters", json::array({filter("image-type", {"PUBLIC_IMAGE"}),
                                        filter("platform", {"Ubuntu"})})}};
  if (!type.empty()) body["InstanceType"] = type;
  return body;
}

json named(const std::string& name) {
  if (name.starts_with("img-")) return {{"ImageIds", json::array({name})}};
  return {{"Filters", json::array({filter("image-name", {name})})}};
}

}  // namespace

std::vector<Image> TencentCloud::images(const std::string& region, const std::string& name,
                                        const std::string& type, const Cancel& cancel) {
  const auto items = api_.list({.region = region,
                                .action = "DescribeImages",
                                .body = name.empty() ? public_images(type) : named(name),
                                .doing = "looking for images in " + region},
                               "ImageSet", cancel);
  std::vector<Image> found;
  for (const JsonAnswer& item : items)
    if (Image image = image_of(Answer(item)); !image.id.empty()) found.push_back(std::move(image));
  if (name.empty()) std::erase_if(found, [](const Image& image) { return !is_usual(image); });
  if (found.empty() && !name.empty())
    throw Error(ErrorKind::not_found, "tencent: there is no image '" + name + "' in " + region);
  std::ranges::sort(found, std::greater(), &Image::created);
  return found;
}

}  // namespace fastgpu::provision::tencent
