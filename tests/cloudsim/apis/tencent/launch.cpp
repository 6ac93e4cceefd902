#include <algorithm>
#include <array>
#include <charconv>

#include "base/contains.hpp"
#include "cloudsim/apis/tencent/instances.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/world/images.hpp"

namespace fastgpu::cloudsim::tencent {
namespace {

constexpr std::size_t kUserDataLimit = 16384;
constexpr int kMostInstances = 500;

void check_zone(const TencentCall& call, const std::string& zone) {
  if (!call.catalogue().has_zone(call.scope.region, zone))
    throw refusal("InvalidZone.MismatchRegion",
                  "The zone `" + zone + "` is not in `" + call.scope.region + "`.");
}

const MachineType& type_of(const TencentCall& call, const std::string& zone) {
  const std::string name = call.text("InstanceType");
  const MachineType* type = call.catalogue().type(name);
  if (type == nullptr)
    throw refusal("InvalidParameterValue.InstanceTypeNotFound",
                  "The instance type `" + name + "` does not exist.");
  if (call.catalogue().offer(zone, name) == nullptr)
    throw refusal("InvalidParameterValue.ZoneNotSupported",
                  "The instance type `" + name + "` is not sold in `" + zone + "`.");
  return *type;
}

void read_image(const TencentCall& call, const MachineType& type, Instance& like) {
  like.image = call.text("ImageId");
  if (!like.image.starts_with("img-"))
    throw violation("InvalidImageId.Malformed", "`" + like.image + "` is no image id.");
  const auto image = image_for(call.world, call.scope, like.image);
  if (!image)
    throw refusal("InvalidImageId.NotFound", "The image `" + like.image + "` does not exist.");
  if (image->architecture != type.architecture)
    throw refusal("InvalidParameterValue.InvalidImageForGivenInstanceType",
                  "The image `" + like.image + "` does not fit `" + type.name + "`.");
}

void read_network(const TencentCall& call, Instance& like) {
  const Json network = call.body.value("VirtualPrivateCloud", Json::object());
  like.vpc = network.value("VpcId", "");
  like.subnet = network.value("SubnetId", "");
  const Resource* subnet = call.world.find(call.scope, "subnet", like.subnet);
  if (call.world.find(call.scope, "vpc", like.vpc) == nullptr)
    throw refusal("InvalidParameterValue.VpcIdNotExist",
                  "The VPC `" + like.vpc + "` does not exist.");
  if (subnet == nullptr)
    throw refusal("InvalidParameterValue.SubnetNotExist",
                  "The subnet `" + like.subnet + "` does not exist.");
  if (subnet->data.at("vpc") != like.vpc)
    throw refusal("InvalidParameterValue.VpcIdSubnetIdNotMatch", "The subnet is not of that VPC.");
  if (subnet->data.at("zone") != like.zone)
    throw refusal("InvalidParameterValue.SubnetIdZoneIdNotMatch",
                  "The subnet is not in `" + like.zone + "`.");
  like.groups = call.list("SecurityGroupIds");
  for (const std::string& group : like.groups)
    if (call.world.find(call.scope, "group", group) == nullptr)
      throw refusal("InvalidSecurityGroupId.NotFound",
                    "The security group `" + group + "` does not exist.");
}

void read_user_data(const TencentCall& call, Instance& like) {
  try {
    like.user_data = base64_decode(call.text("UserData"));
  } catch (const std::exception&) {
    throw violation("InvalidParameterValue.InvalidUserDataFormat", "UserData is no base64.");
  }
  if (like.user_data.size() > kUserDataLimit)
    throw refusal("InvalidParameterValue.LimitExceeded", "UserData has more than 16 KB.");
}

void read_market(const TencentCall& call, LaunchOrder& order) {
  const std::string type = call.text("InstanceChargeType", "POSTPAID_BY_HOUR");
  const Json options = call.body.value("InstanceMarketOptions", Json::object());
  if (type != "POSTPAID_BY_HOUR" && type != "SPOTPAID")
    throw violation("InvalidParameterValue",
                    "InstanceChargeType `" + type + "` is not supported here.");
  if (type != "SPOTPAID") return;
  order.like.market = Market::spot;
  if (!options.contains("SpotOptions")) return;
  const Json& spot = options.at("SpotOptions");
  if (options.value("MarketType", "spot") != "spot" || !spot.value("MaxPrice", Json()).is_string())
    throw violation("InvalidParameter",
                    "InstanceMarketOptions needs MarketType spot and MaxPrice, a string.");
  order.highest_price = std::stod(spot.at("MaxPrice").get<std::string>());
}

void read_cluster(const TencentCall& call, const MachineType& type, Instance& like) {
  like.placement = call.text("HpcClusterId");
  const bool needed = type.rdma_interfaces > 0;
  if (needed && like.placement.empty())
    throw refusal("InvalidParameterValue.InstanceTypeRequiredHpcCluster",
                  "`" + type.name + "` needs an HpcClusterId.");
  if (!needed && !like.placement.empty())
    throw refusal("InvalidParameterValue.InstanceTypeNotSupportHpcCluster",
                  "`" + type.name + "` can be in no HPC cluster.");
  if (needed && resource(call, "hpc", like.placement).data.at("zone") != like.zone)
    throw refusal("InvalidParameterValue.HpcClusterIdZoneIdNotMatch",
                  "The HPC cluster is not in `" + like.zone + "`.");
}

void read_counts(const TencentCall& call, LaunchOrder& order) {
  order.maximum = call.body.value("InstanceCount", 1);
  order.minimum = call.body.value("MinCount", order.maximum);
  if (order.maximum < 1 || order.maximum > kMostInstances)
    throw refusal("InvalidParameterValue.Range", "InstanceCount is 1 to 500.");
  if (order.minimum < 1 || order.minimum > order.maximum)
    throw refusal("InvalidParameterValue.InvalidParameterMinCount",
                  "MinCount is 1 to InstanceCount.");
  order.token = call.text("ClientToken");
  if (order.token.size() > 64)
    throw violation("InvalidClientToken.TooLong", "ClientToken has more than 64 characters.");
  order.token_outlives = true;
}

void check_data_disks(const TencentCall& call) {
  constexpr std::array kTypes = {"CLOUD_PREMIUM", "CLOUD_SSD",  "CLOUD_BSSD",
                                 "CLOUD_HSSD",    "CLOUD_TSSD", "CLOUD_BASIC"};
  constexpr int kStep = 10;
  for (const Json& disk : call.body.value("DataDisks", Json::array())) {
    const int size = disk.value("DiskSize", 0);
    const std::string type = disk.value("DiskType", "");
    if (!contains(kTypes, type))
      throw refusal("InvalidParameterValue", "`" + type + "` is no type of data disks.");
    if (size < 2 * kStep || size > 32000 || size % kStep != 0)
      throw refusal("InvalidParameterValue.Range",
                    "A data disk has 20 to 32000 GB in steps of 10, not " + std::to_string(size));
  }
}

LaunchOrder read_order(const TencentCall& call) {
  LaunchOrder order;
  order.scope = call.scope;
  Instance& like = order.like;
  like.zone = call.body.value("Placement", Json::object()).value("Zone", "");
  check_zone(call, like.zone);
  const MachineType& type = type_of(call, like.zone);
  like.type = type.name;
  like.name = call.text("InstanceName", "Unnamed");
  read_image(call, type, like);
  read_network(call, like);
  read_user_data(call, like);
  read_market(call, order);
  read_cluster(call, type, like);
  check_data_disks(call);
  read_counts(call, order);
  like.tags = specified_tags(call, "instance");
  for (const Json& key :
       call.body.value("LoginSettings", Json::object()).value("KeyIds", Json::array()))
    like.key = resource(call, "key", key).id;
  if (call.body.contains("ActionTimer"))
    set_timer(call, call.body.at("ActionTimer"), like.release_at);
  return order;
}

/// Adds what an instance uses: its interface in the subnet, and its disks.
void attach(const TencentCall& call, Instance& instance) {
  SimulatedWorld& world = call.world;
  Resource& interface = world.add(call.scope, "interface", world.new_id("eni-", 8));
  interface.part_of = instance.id;
  interface.uses = {instance.groups.begin(), instance.groups.end()};
  interface.uses.insert(instance.subnet);
  interface.data = {{"instance", instance.id}};
  instance.attached.push_back(interface.id);
  Json disks = call.body.value("DataDisks", Json::array());
  Json system = call.body.value("SystemDisk", Json::object());
  system["system"] = true;
  disks.insert(disks.begin(), system);
  for (const Json& wanted : disks) {
    Resource& disk = world.add(call.scope, "disk", world.new_id("disk-", 8));
    if (wanted.value("DeleteWithInstance", true)) disk.part_of = instance.id;
    disk.tags = instance.tags;
    disk.data = {{"instance", instance.id},
                 {"zone", instance.zone},
                 {"size_gb", wanted.value("DiskSize", 50)},
                 {"type", wanted.value("DiskType", "CLOUD_PREMIUM")},
                 {"system", wanted.value("system", false)},
                 {"delete", wanted.value("DeleteWithInstance", true)}};
    instance.attached.push_back(disk.id);
  }
}

/// Returns the name of the nth instance: "demo-{R:3}" counts from 3.
std::string expanded(const std::string& name, int nth) {
  const std::size_t open = name.find("{R:");
  const std::size_t close = name.find('}', std::min(open, name.size()));
  if (close == std::string::npos) return name;
  int first = 0;
  const char* end = name.data() + close;
  if (std::from_chars(name.data() + open + 3, end, first).ptr != end)
    throw violation("InvalidInstanceName.Malformed", "`" + name + "` has no number to count from.");
  return name.substr(0, open) + std::to_string(first + nth) + name.substr(close + 1);
}

Json run_instances(const TencentCall& call) {
  const LaunchOrder order = read_order(call);
  if (call.body.value("DryRun", false)) return Json::object();
  const Json internet = call.body.value("InternetAccessible", Json::object());
  const bool is_public =
      internet.value("PublicIpAssigned", false) && internet.value("InternetMaxBandwidthOut", 0) > 0;
  Json ids = Json::array();
  for (const std::string& id : call.world.launch(order, "ins-", 8)) {
    Instance& made = call.world.instances.at(id);
    if (made.attached.empty() && made.state != State::terminated) {
      attach(call, made);
      made.name = expanded(made.name, made.launch_index);
      if (is_public && made.public_address.empty())
        made.public_address = call.world.new_public_address();
    }
    ids.push_back(id);
  }
  return {{"InstanceIdSet", ids}};
}

/// Returns the prices of the instances that RunInstances would launch.
Json inquire_price(const TencentCall& call) {
  const std::string zone = call.body.at("Placement").value("Zone", "");
  check_zone(call, zone);
  const MachineType& type = type_of(call, zone);
  const Offer& offer = *call.catalogue().offer(zone, type.name);
  const bool spot = call.text("InstanceChargeType") == "SPOTPAID";
  const double each = spot ? offer.spot_price : offer.price;
  const double all = each * call.body.value("InstanceCount", 1);
  return {{"Price",
           {{"InstancePrice",
             {{"UnitPrice", offer.price * call.body.value("InstanceCount", 1)},
              {"UnitPriceDiscount", all},
              {"Discount", offer.price > 0 ? 100 * each / offer.price : 100},
              {"ChargeUnit", "HOUR"}}},
            {"BandwidthPrice",
             {{"UnitPrice", 0.8}, {"UnitPriceDiscount", 0.8}, {"ChargeUnit", "GB"}}}}}};
}

constexpr TencentAction kLaunchActions[] = {
    {"cvm", "RunInstances",
     "Placement! ImageId! InstanceType! InstanceChargeType SystemDisk DataDisks "
     "VirtualPrivateCloud! "
     "InternetAccessible InstanceCount MinCount InstanceName LoginSettings SecurityGroupIds "
     "EnhancedService ClientToken HostName ActionTimer DisasterRecoverGroupIds TagSpecification "
     "InstanceMarketOptions UserData DryRun CamRoleName HpcClusterId EnableJumboFrame Metadata",
     run_instances},
    {"cvm", "InquiryPriceRunInstances",
     "Placement! ImageId! InstanceType InstanceChargeType SystemDisk DataDisks VirtualPrivateCloud "
     "InternetAccessible InstanceCount InstanceName LoginSettings SecurityGroupIds EnhancedService "
     "ClientToken HostName TagSpecification InstanceMarketOptions HpcClusterId",
     inquire_price},
};

}  // namespace

std::span<const TencentAction> launch_actions() {
  return kLaunchActions;
}

}  // namespace fastgpu::cloudsim::tencent
