#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/apis/aws/instances.hpp"
#include "cloudsim/apis/aws/launch.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/world/images.hpp"
#include "cloudsim/world/live.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

constexpr std::size_t kUserDataLimit = 16384;

Refusal bad_value(const std::string& message) {
  return {400, "InvalidParameterValue", message};
}

Image image_of(const Ec2Call& call) {
  const std::string id = call.params.get("ImageId");
  constexpr std::string_view kResolve = "resolve:ssm:";
  for (const Image& image : images_for(call.world, call.scope)) {
    const bool named = id.starts_with(kResolve) && image.parameter == id.substr(kResolve.size());
    if (image.id == id || (named && !image.parameter.empty())) return image;
  }
  throw Refusal(400, "InvalidAMIID.NotFound", "The image id '[" + id + "]' does not exist");
}

const MachineType& type_of(const Ec2Call& call, const Image& image) {
  const std::string name = call.params.get("InstanceType", "m1.small");
  const MachineType* type = call.catalogue().type(name);
  if (type == nullptr) throw bad_value("Invalid value '" + name + "' for InstanceType.");
  if (type->architecture != image.architecture)
    throw bad_value("The architecture '" + type->architecture +
                    "' of the specified instance type does not match the architecture '" +
                    image.architecture + "' of the specified AMI.");
  return *type;
}

std::string user_data_of(const Params& params) {
  const auto encoded = params.find("UserData");
  if (!encoded) return "";
  std::string data;
  try {
    data = base64_decode(*encoded);
  } catch (const std::exception&) {
    throw ProtocolViolation(400, "InvalidUserData.Malformed",
                            "Invalid BASE64 encoding of user data.");
  }
  if (data.size() > kUserDataLimit) throw bad_value("User data is limited to 16384 bytes");
  return data;
}

void read_market(const Params& params, LaunchOrder& order) {
  const std::string market = params.get("InstanceMarketOptions.MarketType");
  if (market.empty()) return;
  if (market != "spot") throw bad_value("Market type " + market + " is not supported here");
  order.like.market = Market::spot;
  const std::string price = params.get("InstanceMarketOptions.SpotOptions.MaxPrice");
  if (!price.empty()) order.highest_price = std::stod(price);
  if (params.find("InstanceMarketOptions.SpotOptions.BlockDurationMinutes"))
    throw ProtocolViolation(400, "InvalidParameterValue", "Spot blocks are not offered any more.");
}

void read_placement(const Ec2Call& call, LaunchOrder& order) {
  const std::string name = call.params.get("Placement.GroupName");
  const std::string zone = call.params.get("Placement.AvailabilityZone", order.like.zone);
  if (zone != order.like.zone)
    throw bad_value("The subnet is in " + order.like.zone + ", not in " + zone);
  if (name.empty()) return;
  const auto groups = call.world.resources_of(call.scope, "placement");
  const auto found = std::ranges::find(groups, name, &Resource::name);
  if (found == groups.end())
    throw Refusal(400, "InvalidPlacementGroup.Unknown",
                  "The placement group '" + name + "' is unknown.");
  order.like.placement = name;
  if ((*found)->data.at("strategy") != "cluster") return;
  for (const Instance* other : live_instances(call.world, call.scope))
    if (other->placement == name && other->zone != order.like.zone)
      throw Refusal(400, "InvalidParameterCombination",
                    "Cluster placement group '" + name + "' is in " + other->zone);
}

void check_counts(const LaunchOrder& order) {
  if (order.minimum < 1 || order.maximum < order.minimum)
    throw bad_value("Value (" + std::to_string(order.minimum) + ".." +
                    std::to_string(order.maximum) +
                    ") for parameters minCount and maxCount is invalid.");
}

/// Returns all parameters except the token itself.
std::string fingerprint_of(const Params& params) {
  std::string out;
  for (const auto& [name, value] : params.values())
    if (name != "ClientToken") out += name + "=" + value + "\n";
  return sha256_hex(out);
}

LaunchOrder read_order(const Ec2Call& call, const Image& image, const MachineType& type,
                       const WantedNetwork& network) {
  const Params& params = call.params;
  LaunchOrder order;
  order.scope = call.scope;
  order.minimum = params.number("MinCount", 0);
  order.maximum = params.number("MaxCount", 0);
  check_counts(order);
  order.token = params.get("ClientToken");
  if (order.token.size() > 64) throw bad_value("The client token has more than 64 characters.");
  order.fingerprint = fingerprint_of(params);
  order.like.image = image.id;
  order.like.type = type.name;
  order.like.subnet = network.interfaces[0].subnet;
  const Resource& subnet = resource(call, "subnet", order.like.subnet);
  order.like.vpc = subnet.data.at("vpc");
  order.like.zone = subnet.data.at("zone");
  order.like.groups = network.interfaces[0].groups;
  order.like.tags = tags_for(params, "instance");
  order.like.user_data = user_data_of(params);
  order.like.reservation = call.world.new_id("r-", 17);
  order.like.failed_boot_ends = true;
  order.like.extra["auto_public"] = network.public_address;
  if (const auto key = params.find("KeyName")) {
    const auto keys = call.world.resources_of(call.scope, "key");
    if (!contains(keys, *key, &Resource::name))
      throw Refusal(400, "InvalidKeyPair.NotFound", "The key pair '" + *key + "' does not exist");
    order.like.key = *key;
  }
  read_market(params, order);
  read_placement(call, order);
  set_shutdown_behaviour(order.like, params.get("InstanceInitiatedShutdownBehavior", "stop"));
  return order;
}

Json run_instances(const Ec2Call& call) {
  const Image image = image_of(call);
  const MachineType& type = type_of(call, image);
  const WantedNetwork network = wanted_network(call, type);
  const std::vector<WantedVolume> volumes = wanted_volumes(call, image);
  const LaunchOrder order = read_order(call, image, type, network);
  stop_if_dry_run(call.params);
  Json items = Json::array();
  std::string reservation;
  for (const std::string& id : call.world.launch(order, "i-", 17)) {
    Instance& made = call.world.instances.at(id);
    reservation = made.reservation;
    if (made.reservation ==
        order.like.reservation) {  // Otherwise the token belongs to an earlier launch.
      attach(call, made, network, volumes);
      if (network.public_address && made.public_address.empty())
        made.public_address = call.world.new_public_address();
    }
    items.push_back(shape_instance(call, made));
  }
  return {{"reservationId", reservation},
          {"ownerId", call.scope.account},
          {"groupSet", Json::array()},
          {"instancesSet", items}};
}

constexpr Ec2Action kRunInstancesActions[] = {
    {"RunInstances",
     "MinCount! MaxCount! ImageId! InstanceType KeyName SubnetId SecurityGroupId UserData "
     "ClientToken TagSpecification InstanceMarketOptions BlockDeviceMapping Placement "
     "NetworkInterface IamInstanceProfile MetadataOptions InstanceInitiatedShutdownBehavior "
     "CapacityReservationSpecification EbsOptimized Monitoring CpuOptions CreditSpecification "
     "DisableApiTermination MaintenanceOptions PrivateDnsNameOptions",
     run_instances},
};

}  // namespace

std::span<const Ec2Action> launch_actions() {
  return kRunInstancesActions;
}

}  // namespace fastgpu::cloudsim::aws
