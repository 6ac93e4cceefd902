// Images of Huawei Cloud: by id, by name, or the newest that suits.
#include <algorithm>
#include <tuple>

#include "base/ascii.hpp"
#include "provision/providers/huawei/flavors.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"

namespace fastgpu::provision::huawei {
namespace {

using cloud::Answer;
using cloud::Image;

constexpr std::string_view kRelease = "22.04";

/// Returns true for types with GPUs, by the vendor's naming: p2s, pi2, g6, ...
bool has_gpus(const std::string& type) {
  return type.starts_with('p') || type.starts_with('g');
}

/// Returns true for "8-4-4-4-12" hexadecimal digits.
bool is_id(const std::string& name) {
  return name.size() == 36 && name[8] == '-' && name[13] == '-' &&
         name.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

/// Returns true for an image with a GPU driver.
bool has_driver(const Image& image) {
  const std::string name = ascii_lower(image.name);
  return name.find("tesla") != std::string::npos || name.find("cuda") != std::string::npos ||
         name.find("gpu") != std::string::npos;
}

http::Parameters query_for(const std::string& name, const std::string& type) {
  http::Parameters query = {{"status", "active"}};
  if (is_id(name)) {
    query.emplace_back("id", name);
  } else if (!name.empty()) {
    query.emplace_back("name", name);
  } else {
    query.insert(query.end(), {{"__imagetype", "gold"},
                               {"__os_type", "Linux"},
                               {"__platform", "Ubuntu"},
                               {"virtual_env_type", "FusionCompute"}});
    if (!type.empty()) query.emplace_back("flavor_id", type);
  }
  query.insert(query.end(), {{"sort_key", "created_at"}, {"sort_dir", "desc"}});
  return query;
}

}  // namespace

std::vector<Image> HuaweiCloud::images(const std::string& region, const std::string& name,
                                       const std::string& type, const Cancel& cancel) {
  const auto listed = api_.list({.service = "ims",
                                 .region = region,
                                 .action = "ListImages",
                                 .path = "/v2/cloudimages",
                                 .query = query_for(name, type),
                                 .doing = "looking for images in " + region},
                                "images", cancel);
  std::vector<Image> found;
  for (const JsonAnswer& each : listed) {
    const Answer image = each.root();
    found.push_back({.id = image["id"].text(),
                     .name = image["name"].text(),
                     .architecture = image["__support_arm"].text() == "true" ? "arm64" : "x86_64",
                     .created = image["created_at"].text()});
  }
  std::erase_if(found, [](const Image& image) { return image.id.empty(); });
  if (found.empty() && !name.empty())
    throw Error(ErrorKind::not_found, "huawei: there is no image '" + name + "' in " + region);
  const bool wants_driver = has_gpus(type);
  std::ranges::sort(found, std::greater(), [&](const Image& image) {
    return std::make_tuple(image.name.find(kRelease) != std::string::npos,
                           has_driver(image) == wants_driver, image.created);
  });
  return found;
}

}  // namespace fastgpu::provision::huawei
