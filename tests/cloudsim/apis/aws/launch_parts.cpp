#include <algorithm>
#include <array>

#include "base/contains.hpp"

#include "cloudsim/apis/aws/launch.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

Refusal combination(const std::string& message) {
  return {400, "InvalidParameterCombination", message};
}

std::string default_group(const Ec2Call& call, const std::string& vpc) {
  for (const Resource* group : call.world.resources_of(call.scope, "group"))
    if (group->part_of == vpc) return group->id;
  return "";
}

void complete(const Ec2Call& call, WantedInterface& wanted) {
  if (wanted.subnet.empty())
    throw Refusal(400, "VPCIdNotSpecified", "No default VPC for this user");
  const std::string vpc = resource(call, "subnet", wanted.subnet).data.at("vpc");
  if (wanted.groups.empty()) wanted.groups = {default_group(call, vpc)};
  for (const std::string& group : wanted.groups)
    if (resource(call, "group", group).data.at("vpc") != vpc)
      throw Refusal(400, "InvalidParameter",
                    "Security group " + group + " and subnet " + wanted.subnet +
                        " belong to different networks.");
}

WantedInterface read_interface(const Params& params) {
  WantedInterface wanted;
  wanted.device = params.number("DeviceIndex", 0);
  wanted.card = params.number("NetworkCardIndex", 0);
  wanted.type = params.get("InterfaceType", "interface");
  wanted.subnet = params.get("SubnetId");
  wanted.groups = params.list("SecurityGroupId");
  wanted.delete_on_termination = params.flag("DeleteOnTermination", true);
  if (wanted.type != "interface" && wanted.type != "efa" && wanted.type != "efa-only")
    throw ProtocolViolation(400, "InvalidParameterValue",
                            "Value (" + wanted.type + ") for parameter interfaceType is invalid.");
  return wanted;
}

void check_rdma(const WantedNetwork& network, const MachineType& type) {
  int efa = 0;
  for (const WantedInterface& each : network.interfaces) {
    if (each.type != "interface") ++efa;
    if (each.card >= type.network_cards)
      throw Refusal(
          400, "InvalidNetworkCardIndex",
          "Network card index " + std::to_string(each.card) + " is not valid for " + type.name);
    if (each.card == 0 && each.device == 0 && each.type == "efa-only")
      throw combination("The primary network interface cannot be efa-only.");
  }
  if (efa > type.rdma_interfaces)
    throw Refusal(400, "AttachmentLimitExceeded",
                  type.name + " supports " + std::to_string(type.rdma_interfaces) +
                      " EFA interfaces, not " + std::to_string(efa));
}

}  // namespace

WantedNetwork wanted_network(const Ec2Call& call, const MachineType& type) {
  WantedNetwork out;
  const std::vector<Params> given = call.params.structures("NetworkInterface");
  if (!given.empty() &&
      (call.params.find("SubnetId") || !call.params.list("SecurityGroupId").empty()))
    throw combination(
        "Network interfaces and an instance-level subnet ID or security groups may not be "
        "specified on the same request");
  for (const Params& each : given) {
    out.interfaces.push_back(read_interface(each));
    if (each.flag("AssociatePublicIpAddress")) out.public_address = true;
  }
  if (out.public_address && given.size() > 1)
    throw combination(
        "The associatePublicIPAddress parameter cannot be specified when launching with multiple "
        "network interfaces.");
  if (given.empty()) {
    WantedInterface primary;
    primary.subnet = call.params.get("SubnetId");
    primary.groups = call.params.list("SecurityGroupId");
    out.interfaces.push_back(primary);
  }
  for (WantedInterface& each : out.interfaces)
    complete(call, each);
  std::ranges::stable_sort(out.interfaces, {}, [](const WantedInterface& each) {
    return std::pair(each.card, each.device);
  });
  check_rdma(out, type);
  const bool asked = !given.empty() && given[0].find("AssociatePublicIpAddress");
  if (!asked && given.size() <= 1)
    out.public_address =
        resource(call, "subnet", out.interfaces[0].subnet).data.value("public", false);
  return out;
}

namespace {

void check_volume(const WantedVolume& volume, const std::vector<WantedVolume>& others) {
  constexpr int kLargest = 65536;
  constexpr std::size_t kNameLength = std::string_view("/dev/sdf").size();
  const bool is_device = volume.device.starts_with("/dev/sd") || volume.device.starts_with("xvd");
  if (!is_device || volume.device.size() > kNameLength + 1)
    throw Refusal(400, "InvalidBlockDeviceMapping", "Invalid device name " + volume.device);
  if (volume.size_gb < 1 || volume.size_gb > kLargest)
    throw Refusal(400, "InvalidParameterValue",
                  "Invalid value '" + std::to_string(volume.size_gb) + "' for VolumeSize");
  if (contains(others, volume.device, &WantedVolume::device))
    throw Refusal(400, "InvalidBlockDeviceMapping",
                  "The device " + volume.device + " is in more than one block device mapping");
}

}  // namespace

namespace {

void check_type(const WantedVolume& volume) {
  constexpr std::array kTypes = {"standard", "gp2", "gp3", "io1", "io2", "st1", "sc1"};
  if (!contains(kTypes, volume.type))
    throw Refusal(400, "InvalidParameterValue",
                  "Value (" + volume.type + ") for parameter volumeType is invalid.");
}

}  // namespace

std::vector<WantedVolume> wanted_volumes(const Ec2Call& call, const Image& image) {
  std::vector<WantedVolume> out = {WantedVolume{.size_gb = image.disk_gb}};
  for (const Params& mapping : call.params.structures("BlockDeviceMapping")) {
    WantedVolume volume;
    volume.device = mapping.get("DeviceName", volume.device);
    const bool root = volume.device == out[0].device;
    volume.size_gb = mapping.number("Ebs.VolumeSize", root ? image.disk_gb : 8);
    volume.type = mapping.get("Ebs.VolumeType", volume.type);
    check_type(volume);
    volume.delete_on_termination = mapping.flag("Ebs.DeleteOnTermination", true);
    if (root && volume.size_gb < image.disk_gb)
      throw Refusal(400, "InvalidBlockDeviceMapping",
                    "Volume of size " + std::to_string(volume.size_gb) +
                        "GB is smaller than snapshot, expect size >= " +
                        std::to_string(image.disk_gb) + "GB");
    if (root) {
      out[0] = volume;
      continue;
    }
    check_volume(volume, out);
    out.push_back(volume);
  }
  return out;
}

namespace {

void add_interface(const Ec2Call& call, Instance& instance, const WantedInterface& wanted,
                   bool primary) {
  const Resource& subnet = resource(call, "subnet", wanted.subnet);
  Resource& made = call.world.add(call.scope, "interface", call.world.new_id("eni-", 17));
  if (wanted.delete_on_termination) made.part_of = instance.id;
  instance.attached.push_back(made.id);
  made.uses = {wanted.groups.begin(), wanted.groups.end()};
  made.uses.insert(wanted.subnet);
  made.tags = tags_for(call.params, "network-interface");
  made.data = {{"instance", instance.id},
               {"subnet", wanted.subnet},
               {"vpc", subnet.data.at("vpc")},
               {"zone", subnet.data.at("zone")},
               {"groups", wanted.groups},
               {"type", wanted.type},
               {"device", wanted.device},
               {"card", wanted.card},
               {"delete", wanted.delete_on_termination},
               {"address", primary ? instance.private_address : call.world.take_address(subnet)}};
}

}  // namespace

void attach(const Ec2Call& call, Instance& instance, const WantedNetwork& network,
            const std::vector<WantedVolume>& volumes) {
  for (const WantedInterface& wanted : network.interfaces)
    add_interface(call, instance, wanted, &wanted == network.interfaces.data());
  for (const WantedVolume& wanted : volumes) {
    Resource& made = call.world.add(call.scope, "volume", call.world.new_id("vol-", 17));
    if (wanted.delete_on_termination) made.part_of = instance.id;
    instance.attached.push_back(made.id);
    made.tags = tags_for(call.params, "volume");
    made.data = {{"instance", instance.id},   {"device", wanted.device},
                 {"size_gb", wanted.size_gb}, {"type", wanted.type},
                 {"zone", instance.zone},     {"delete", wanted.delete_on_termination}};
  }
}

}  // namespace fastgpu::cloudsim::aws
