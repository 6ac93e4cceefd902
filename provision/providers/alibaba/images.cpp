// Images of Alibaba Cloud: by id, family or name, or the newest suitable one.
#include <algorithm>

#include "provision/providers/alibaba/alibaba_cloud.hpp"

namespace fastgpu::provision::alibaba {
namespace {

using cloud::Image;

// Ubuntu 22.04 by its family, and by the name of its images if the family is not known. No system
// image has a GPU driver: the environment installs one.
constexpr const char* kFamily = "acs:ubuntu_22_04_x64";
constexpr const char* kNames = "ubuntu_22_04_x64*";

Image image_of(const Answer& item) {
  return {.id = item["ImageId"].text(),
          .name = item["ImageName"].text(),
          .architecture = item["Architecture"].text(),
          .created = item["CreationTime"].text()};
}

Parameters system_images(const std::string& type, const char* parameter, const char* value) {
  Parameters parameters = {{"ImageOwnerAlias", "system"},
                           {"OSType", "linux"},
                           {"Status", "Available"},
                           {parameter, value}};
  if (!type.empty()) parameters.emplace_back("InstanceType", type);
  return parameters;
}

/// Returns the parameter for a name: images have ids, families and names.
const char* parameter_for(const std::string& name) {
  if (name.starts_with("m-") || name.ends_with(".vhd")) return "ImageId";
  return name.starts_with("acs:") ? "ImageFamily" : "ImageName";
}

}  // namespace

std::vector<Image> AlibabaCloud::images(const std::string& region, const std::string& name,
                                        const std::string& type, const Cancel& cancel) {
  const auto find = [&](Parameters parameters) {
    parameters.emplace_back("PageSize", "100");
    std::vector<Image> found;
    api_.pages(
        {.region = region,
         .action = "DescribeImages",
         .parameters = std::move(parameters),
         .doing = "looking for images in " + region},
        [&](const Answer& page) {
          for (const Answer& item : page["Images"]["Image"].items())
            if (!item["ImageId"].text().empty()) found.push_back(image_of(item));
        },
        cancel);
    std::ranges::sort(found, std::greater(), &Image::created);
    return found;
  };
  if (name.empty()) {
    auto found = find(system_images(type, "ImageFamily", kFamily));
    return found.empty() ? find(system_images(type, "ImageName", kNames)) : found;
  }
  auto found = find({{parameter_for(name), name}, {"Status", "Available"}});
  if (found.empty())
    throw Error(ErrorKind::not_found, "alibaba: there is no image '" + name + "' in " + region);
  return found;
}

}  // namespace fastgpu::provision::alibaba
