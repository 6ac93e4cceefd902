// Images of AWS: by id, by name, or the newest that suits.
#include <algorithm>

#include "provision/providers/aws/aws_cloud.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::Image;

constexpr const char* kUbuntu = "ubuntu/images/hvm-ssd*/ubuntu-*-22.04-amd64-server-*";
constexpr const char* kGpuImage = "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04)*";

/// Returns true for types with GPUs, by AWS's naming.
bool has_gpus(const std::string& type) {
  return type.starts_with('p') || type.starts_with('g');
}

}  // namespace

std::vector<Image> AwsCloud::images(const std::string& region, const std::string& name,
                                    const std::string& type, const Cancel& cancel) {
  Ec2Call call{
      .region = region, .action = "DescribeImages", .doing = "looking for images in " + region};
  if (name.starts_with("ami-")) {
    call.parameters.emplace_back("ImageId.1", name);
  } else if (!name.empty()) {
    add_filter(call.parameters, 1, "name", {name});
    add_filter(call.parameters, 2, "state", {"available"});
  } else {
    call.parameters.emplace_back(
        "Owner.1", has_gpus(type) ? "amazon" : std::string(partition_of(region).canonical));
    add_filter(call.parameters, 1, "name", {has_gpus(type) ? kGpuImage : kUbuntu});
    add_filter(call.parameters, 2, "state", {"available"});
  }
  std::vector<Image> found;
  ec2_.pages(
      call,
      [&](const pugi::xml_node& root) {
        for (const pugi::xml_node& item : items(root, "imagesSet"))
          found.push_back({.id = item.child_value("imageId"),
                           .name = item.child_value("name"),
                           .architecture = item.child_value("architecture"),
                           .created = item.child_value("creationDate"),
                           .root_device = item.child_value("rootDeviceName")});
      },
      cancel);
  if (found.empty() && !name.empty())
    throw Error(ErrorKind::not_found, "aws: there is no image '" + name + "' in " + region);
  std::ranges::sort(found, std::greater(), &Image::created);
  return found;
}

}  // namespace fastgpu::provision::aws
