#include <algorithm>
#include <charconv>
#include <cstdio>

#include "cloudsim/apis/alibaba/call.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/world/images.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

constexpr std::size_t kUserDataLimit = 32768;
constexpr int kMostInstances = 100;

/// Reads the VSwitch and the groups of an instance: its own parameters, or those of the primary
/// interface.
void read_network(const AlibabaCall& call, Instance& like) {
  const auto interfaces = call.params.structures("NetworkInterface");
  const bool is_named = call.params.find("VSwitchId") || call.params.find("SecurityGroupId");
  if (!interfaces.empty() && is_named)
    throw ProtocolViolation(400, "InvalidParameter.Conflict",
                            "VSwitchId and SecurityGroupId are those of the primary interface.");
  Params from = call.params;
  for (const Params& each : interfaces)
    if (each.get("InstanceType", "Secondary") == "Primary") from = each;
  const std::string vswitch_id = from.get("VSwitchId");
  const Resource& vswitch = resource(call, "subnet", vswitch_id);
  if (!is_available(call.world, vswitch))
    throw Refusal(400, "IncorrectVSwitchStatus", "The current status of the VSwitch is Pending.");
  like.subnet = vswitch_id;
  like.vpc = vswitch.data.at("vpc");
  like.zone = vswitch.data.at("zone");
  if (call.params.get("ZoneId", like.zone) != like.zone)
    throw Refusal(400, "InvalidParameter.Mismatch", "The VSwitch is in " + like.zone + ".");
  like.groups = from.list("SecurityGroupIds");
  if (const auto group = from.find("SecurityGroupId")) like.groups.push_back(*group);
  if (like.groups.empty())
    throw ProtocolViolation(400, "MissingParameter", "An instance needs a security group.");
  for (const std::string& group : like.groups)
    if (resource(call, "group", group).data.at("vpc") != like.vpc)
      throw Refusal(
          403, "InvalidParameter.Mismatch",
          "Security group " + group + " and VSwitch " + vswitch_id + " are in different VPCs.");
}

/// Reads the placement. Types for super computing need an HPC cluster, and others cannot be in one.
void read_placement(const AlibabaCall& call, Instance& like) {
  like.placement = call.params.get("HpcClusterId");
  const bool is_needed = like.type.starts_with("ecs.scc");
  if (is_needed == like.placement.empty())
    throw Refusal(400, is_needed ? "MissingParameter" : "InvalidInstanceType.NotSupported",
                  is_needed ? "HpcClusterId is needed for " + like.type + "."
                            : like.type + " can be in no HPC cluster.");
  if (is_needed) resource(call, "hpc", like.placement);
  if (const auto set = call.params.find("DeploymentSetId"))
    like.placement = resource(call, "set", *set).id;
}

const MachineType& type_of(const AlibabaCall& call) {
  const std::string name = call.params.get("InstanceType");
  const MachineType* type = call.catalogue().type(name);
  if (type == nullptr)
    throw Refusal(400, "InvalidInstanceType.ValueNotSupported",
                  "The specified InstanceType " + name + " does not exist.");
  for (const Params& each : call.params.structures("NetworkInterface")) {
    const std::string mode = each.get("NetworkInterfaceTrafficMode", "Standard");
    if (mode != "Standard" && mode != "HighPerformance")
      throw ProtocolViolation(400, "InvalidParameter.NetworkInterfaceTrafficMode",
                              mode + " is none.");
    if (mode == "HighPerformance" && type->rdma_interfaces == 0)
      throw Refusal(400, "InvalidParameter.NetworkInterfaceTrafficMode",
                    name + " has no elastic RDMA interfaces.");
  }
  return *type;
}

void read_image(const AlibabaCall& call, const MachineType& type, Instance& like) {
  like.image = call.params.get("ImageId");
  const auto image = image_for(call.world, call.scope, like.image);
  if (!image)
    throw Refusal(404, "InvalidImageId.NotFound",
                  "The specified ImageId " + like.image + " does not exist.");
  if (image->architecture != type.architecture)
    throw Refusal(403, "ImageNotSupportInstanceType",
                  "The image " + like.image + " does not fit " + type.name + ".");
  const int size = call.params.number("SystemDisk.Size", image->disk_gb);
  if (size < image->disk_gb)
    throw Refusal(400, "InvalidSystemDiskSize.LessThanImageSize",
                  "The system disk is smaller than the image.");
  like.extra["disk_gb"] = size;
}

/// Reads the data disks. By default a data disk is deleted with its instance.
void read_data_disks(const AlibabaCall& call, Instance& like) {
  constexpr int kMostDisks = 16;
  const auto given = call.params.structures("DataDisk");
  if (given.size() > kMostDisks)
    throw Refusal(400, "InstanceDiskLimitExceed", "An instance has at most 16 data disks.");
  like.extra["data_disks"] = Json::array();
  for (const Params& each : given) {
    const DataDisk disk = read_data_disk(each);
    const bool goes = !each.find("DeleteWithInstance") || is_on(each, "DeleteWithInstance");
    like.extra["data_disks"].push_back(
        {{"size_gb", disk.size_gb}, {"type", disk.category}, {"delete", goes}});
  }
}

void read_user_data(const AlibabaCall& call, Instance& like) {
  try {
    like.user_data = base64_decode(call.params.get("UserData"));
  } catch (const std::exception&) {
    throw ProtocolViolation(400, "InvalidUserData.Base64FormatInvalid", "UserData is no base64.");
  }
  if (like.user_data.size() > kUserDataLimit)
    throw Refusal(400, "InvalidUserData.SizeExceeded", "UserData has more than 32 KB.");
}

void read_market(const AlibabaCall& call, LaunchOrder& order) {
  const std::string charge = call.params.get("InstanceChargeType", "PostPaid");
  const std::string strategy = call.params.get("SpotStrategy", "NoSpot");
  if (charge != "PostPaid")
    throw ProtocolViolation(400, "InvalidInstanceChargeType.ValueNotSupported",
                            "InstanceChargeType " + charge + " is not supported here.");
  if (strategy == "NoSpot") return;
  if (strategy != "SpotAsPriceGo" && strategy != "SpotWithPriceLimit")
    throw ProtocolViolation(400, "InvalidSpotStrategy", strategy + " is none.");
  order.like.market = Market::spot;
  const std::string limit = call.params.get("SpotPriceLimit");
  if (limit.empty() != (strategy == "SpotAsPriceGo"))
    throw ProtocolViolation(400, "InvalidSpotPriceLimit",
                            "SpotPriceLimit goes with SpotWithPriceLimit.");
  if (!limit.empty()) order.highest_price = std::stod(limit);
}

void read_counts(const AlibabaCall& call, LaunchOrder& order) {
  order.maximum = call.params.number("Amount", 1);
  order.minimum = call.params.number("MinAmount", order.maximum);
  if (order.maximum < 1 || order.maximum > kMostInstances || order.minimum < 1 ||
      order.minimum > order.maximum)
    throw Refusal(400, "InvalidAmount.Malformed", "Amount is 1 to 100 and MinAmount 1 to Amount.");
  order.token = call.params.get("ClientToken");
  if (order.token.size() > 64)
    throw ProtocolViolation(400, "InvalidClientToken.Malformed",
                            "ClientToken has more than 64 characters.");
  order.token_outlives = true;
  for (const auto& [name, value] : call.params.values())
    if (name != "ClientToken") order.fingerprint += name + "=" + value + "\n";
}

/// Returns the name of the nth instance: "demo-000007" for the third of "demo-[5,6]".
std::string expanded(const std::string& name, int nth) {
  const std::size_t open = name.find('[');
  const std::size_t comma = name.find(',', std::min(open, name.size()));
  const std::size_t close = name.find(']', std::min(comma, name.size()));
  if (close == std::string::npos) return name;
  int first = 0;
  int digits = 6;
  std::from_chars(name.data() + open + 1, name.data() + comma, first);
  std::from_chars(name.data() + comma + 1, name.data() + close, digits);
  char number[16];
  std::snprintf(number, sizeof number, "%0*d", std::clamp(digits, 1, 6), first + nth);
  return name.substr(0, open) + number + name.substr(close + 1);
}

LaunchOrder read_order(const AlibabaCall& call) {
  LaunchOrder order;
  order.scope = call.scope;
  Instance& like = order.like;
  const MachineType& type = type_of(call);
  like.type = type.name;
  read_network(call, like);
  read_placement(call, like);
  read_image(call, type, like);
  read_data_disks(call, like);
  read_user_data(call, like);
  read_market(call, order);
  read_counts(call, order);
  like.name = call.params.get("InstanceName");
  like.tags = read_tags(call.params);
  like.failed_boot_ends = true;
  const int bandwidth = call.params.number("InternetMaxBandwidthOut", 0);
  if (bandwidth < 0 || bandwidth > 100)
    throw Refusal(400, "InvalidInternetMaxBandwidthOut.ValueNotSupported", "It is 0 to 100.");
  like.extra["bandwidth"] = bandwidth;
  if (const auto time = call.params.find("AutoReleaseTime"))
    like.release_at = read_release_time(call, *time);
  return order;
}

/// Adds what an instance uses: its interface in the VSwitch, and its disks.
void complete(const AlibabaCall& call, Instance& instance) {
  SimulatedWorld& world = call.world;
  instance.name = expanded(instance.name, instance.launch_index);
  if (instance.name.empty()) instance.name = instance.id;
  Resource& interface = world.add(call.scope, "interface", world.new_id("eni-", 20));
  interface.part_of = instance.id;
  interface.uses = {instance.groups.begin(), instance.groups.end()};
  interface.uses.insert(instance.subnet);
  interface.data = {{"instance", instance.id}};
  Resource& disk = world.add(call.scope, "disk", world.new_id("d-", 20));
  disk.part_of = instance.id;
  disk.data = {{"instance", instance.id}, {"size_gb", instance.extra.at("disk_gb")}};
  instance.attached = {interface.id, disk.id};
  for (const Json& wanted : instance.extra.at("data_disks")) {
    Resource& data = world.add(call.scope, "disk", world.new_id("d-", 20));
    if (wanted.at("delete")) data.part_of = instance.id;
    data.data = wanted;
    data.data["instance"] = instance.id;
    instance.attached.push_back(data.id);
  }
  const bool is_public = instance.extra.at("bandwidth") > 0;
  if (is_public && instance.public_address.empty())
    instance.public_address = world.new_public_address();
}

Json run_instances(const AlibabaCall& call) {
  const LaunchOrder order = read_order(call);
  stop_if_dry_run(call.params, "DryRunOperation");
  Json ids = Json::array();
  for (const std::string& id : call.world.launch(order, "i-", 20)) {
    Instance& made = call.world.instances.at(id);
    if (made.attached.empty()) complete(call, made);
    ids.push_back(id);
  }
  const double price = call.world.instances.at(ids.at(0)).price;
  return {{"InstanceIdSets", {{"InstanceIdSet", ids}}}, {"TradePrice", price * double(ids.size())}};
}

constexpr AlibabaAction kLaunchActions[] = {
    {"ecs", "RunInstances",
     "RegionId! ZoneId ImageId! InstanceType! Amount MinAmount InstanceName HostName ClientToken "
     "UserData VSwitchId SecurityGroupId SecurityGroupIds NetworkInterface InternetChargeType "
     "InternetMaxBandwidthOut InternetMaxBandwidthIn InstanceChargeType SpotStrategy "
     "SpotPriceLimit SpotDuration SpotInterruptionBehavior SystemDisk DataDisk Tag "
     "AutoReleaseTime HttpEndpoint HttpTokens DryRun Description IoOptimized HpcClusterId "
     "DeploymentSetId",
     run_instances},
};

}  // namespace

std::span<const AlibabaAction> launch_actions() {
  return kLaunchActions;
}

}  // namespace fastgpu::cloudsim::alibaba
