#include "provision/providers/aws/machines.hpp"

#include <cstdio>

#include "base/base64.hpp"
#include "base/contains.hpp"
#include "base/numbers.hpp"
#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::Machine;
using cloud::MachineState;

MachineState state_named(std::string_view name) {
  if (name == "pending") return MachineState::pending;
  if (name == "running") return MachineState::running;
  if (name == "stopping") return MachineState::stopping;
  if (name == "stopped") return MachineState::stopped;
  if (name == "shutting-down") return MachineState::ending;
  return MachineState::gone;
}

std::string tag_in(const pugi::xml_node& node, std::string_view key) {
  for (const pugi::xml_node& tag : items(node, "tagSet"))
    if (tag.child_value("key") == key) return tag.child_value("value");
  return {};
}

int number(std::string_view digits) {
  return leading_number<int>(digits).value_or(-1);
}

/// Returns the node's index. A tag has the index of the first node; the others follow in the order
/// of the launch.
int index_of(const pugi::xml_node& instance) {
  const int first = number(tag_in(instance, cloud::kFirstTag));
  const int place = number(instance.child_value("amiLaunchIndex"));
  return first < 0 || place < 0 ? -1 : first + place;
}

Machine machine_of(const pugi::xml_node& instance, const std::string& region) {
  const std::string id = cloud::machine_id_told("aws", instance.child_value("instanceId"));
  return {.id = id,
          .index = index_of(instance),
          .state = state_named(instance.child("instanceState").child_value("name")),
          .address = cloud::MachineAddress::told("aws", id, instance.child_value("ipAddress")),
          .private_address =
              cloud::MachineAddress::told("aws", id, instance.child_value("privateIpAddress")),
          .site = {region, instance.child("placement").child_value("availabilityZone")},
          .type = instance.child_value("instanceType"),
          .launched = instance.child_value("launchTime"),
          .failure = instance.child("stateReason").child_value("message"),
          .marks = marks_in(instance),
          .vpc = instance.child_value("vpcId"),
          .host_key = tag_in(instance, cloud::kHostKeyTag),
          .taken = tag_in(instance, cloud::kTakenTag),
          .launched_as = tag_in(instance, cloud::kLaunchedTag)};
}

/// Returns the network cards on which a machine gets interfaces. A machine with several interfaces
/// gets no public address at its launch. For a public address it gets only its own interface, on
/// the first card.
std::vector<int> cards_of(const cloud::Launch& launch) {
  std::vector<int> cards = {0};
  if (!launch.rdma || launch.has_public_address) return cards;
  for (int card = 1; launch.rdma_cards.empty() && card < launch.rdma_interfaces; ++card)
    cards.push_back(card);
  for (const int card : launch.rdma_cards)
    if (card > 0) cards.push_back(card);
  return cards;
}

/// Returns true if a card has the fabric adapter.
bool has_adapter(const cloud::Launch& launch, int card) {
  return launch.rdma && (launch.rdma_cards.empty() || contains(launch.rdma_cards, card));
}

void add_interface(Parameters& parameters, const cloud::Launch& launch, int number, int card,
                   const std::string& subnet, const std::string& group) {
  const std::string name = "NetworkInterface." + std::to_string(number);
  // Device 0 of the first card is the machine's own; on other cards device 1 is used.
  parameters.emplace_back(name + ".DeviceIndex", card == 0 ? "0" : "1");
  if (card > 0) parameters.emplace_back(name + ".NetworkCardIndex", std::to_string(card));
  parameters.emplace_back(name + ".SubnetId", subnet);
  parameters.emplace_back(name + ".SecurityGroupId.1", group);
  parameters.emplace_back(name + ".DeleteOnTermination", "true");
  // If the first card has no adapter, the other cards have only an adapter and no address.
  if (has_adapter(launch, card))
    parameters.emplace_back(name + ".InterfaceType", has_adapter(launch, 0) ? "efa" : "efa-only");
}

void add_interfaces(Parameters& parameters, const cloud::Launch& launch) {
  const auto part = [&](const char* kind) {
    const auto found = launch.network.find(kind);
    return found == launch.network.end() ? "" : found->second;
  };
  int number = 0;
  for (const int card : cards_of(launch))
    add_interface(parameters, launch, ++number, card, part("subnet"), part("security-group"));
  if (number == 1)
    parameters.emplace_back("NetworkInterface.1.AssociatePublicIpAddress",
                            launch.has_public_address ? "true" : "false");
  if (const std::string group = part("placement-group"); !group.empty())
    parameters.emplace_back("Placement.GroupName", group);
}

void add_reservation(Parameters& parameters, const cloud::Launch& launch, bool is_block) {
  if (launch.reservation.empty()) return;
  parameters.emplace_back(
      "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId",
      launch.reservation);
  if (is_block) parameters.emplace_back("InstanceMarketOptions.MarketType", "capacity-block");
}

void add_market(Parameters& parameters, const cloud::Launch& launch) {
  if (launch.market != cloud::Market::spot) return;
  const std::string market = "InstanceMarketOptions.";
  parameters.emplace_back(market + "MarketType", "spot");
  parameters.emplace_back(market + "SpotOptions.SpotInstanceType", "one-time");
  parameters.emplace_back(market + "SpotOptions.InstanceInterruptionBehavior", "terminate");
  if (!launch.max_price) return;
  char price[32];
  std::snprintf(price, sizeof price, "%.4f", launch.max_price->amount);
  parameters.emplace_back(market + "SpotOptions.MaxPrice", price);
}

constexpr const char* kDiskType = "gp3";
constexpr const char* kUsualDevice = "/dev/sda1";  // The name in Ubuntu's and AWS's GPU images.
constexpr const char* kDataDevice = "/dev/sdf";    // The first name that EC2 leaves to its users.

void add_disk(Parameters& parameters, int number, const char* device, const DataDisk& wanted) {
  const std::string disk = "BlockDeviceMapping." + std::to_string(number) + ".";
  parameters.emplace_back(disk + "DeviceName", device);
  parameters.emplace_back(disk + "Ebs.VolumeSize", std::to_string(wanted.gib));
  parameters.emplace_back(disk + "Ebs.VolumeType", wanted.type.empty() ? kDiskType : wanted.type);
  parameters.emplace_back(disk + "Ebs.DeleteOnTermination", "true");
}

void add_disks(Parameters& parameters, const cloud::Launch& launch) {
  int number = 0;
  const char* system = launch.root_device.empty() ? kUsualDevice : launch.root_device.c_str();
  if (launch.disk_gib > 0) add_disk(parameters, ++number, system, {.gib = launch.disk_gib});
  if (launch.data_disk.gib > 0) add_disk(parameters, ++number, kDataDevice, launch.data_disk);
}

}  // namespace

void add_tags(Parameters& parameters, const std::string& prefix, const cloud::OwnerTags& marks) {
  const std::pair<std::string_view, std::string> tags[] = {
      {"Name", marks.cluster_name},
      {cloud::kClusterTag, marks.cluster.value},
      {cloud::kNameTag, marks.cluster_name},
      {cloud::kOwnerTag, marks.owner}};
  int n = 0;
  for (const auto& [key, value] : tags) {
    const std::string tag = prefix + ".Tag." + std::to_string(++n);
    parameters.emplace_back(tag + ".Key", key);
    parameters.emplace_back(tag + ".Value", value);
  }
}

cloud::OwnerTags marks_in(const pugi::xml_node& node) {
  return {.cluster = {tag_in(node, cloud::kClusterTag)},
          .cluster_name = tag_in(node, cloud::kNameTag),
          .owner = tag_in(node, cloud::kOwnerTag)};
}

Parameters launch_parameters(const cloud::Launch& launch, bool is_block) {
  Parameters parameters = {{"ImageId", launch.image},
                           {"InstanceType", launch.type},
                           {"MinCount", std::to_string(launch.least)},
                           {"MaxCount", std::to_string(launch.count)},
                           {"ClientToken", launch.token},
                           {"UserData", base64_encode(launch.user_data.reveal())},
                           {"Placement.AvailabilityZone", launch.site.zone},
                           {"MetadataOptions.HttpTokens", "required"}};
  add_interfaces(parameters, launch);
  add_market(parameters, launch);
  add_reservation(parameters, launch, is_block);
  add_disks(parameters, launch);
  // The machine's own timer must end it: after a mere stop its disk would still cost money.
  if (launch.release_at) parameters.emplace_back("InstanceInitiatedShutdownBehavior", "terminate");
  int n = 0;
  for (const char* kind : {"instance", "volume"}) {
    const std::string prefix = "TagSpecification." + std::to_string(++n);
    parameters.emplace_back(prefix + ".ResourceType", kind);
    add_tags(parameters, prefix, launch.marks);
    parameters.emplace_back(prefix + ".Tag.5.Key", cloud::kFirstTag);
    parameters.emplace_back(prefix + ".Tag.5.Value", std::to_string(launch.first));
  }
  return parameters;
}

std::vector<Machine> machines_in(const pugi::xml_node& root, const std::string& region) {
  std::vector<Machine> machines;
  const auto take = [&](const pugi::xml_node& reservation) {
    for (const pugi::xml_node& instance : items(reservation, "instancesSet"))
      machines.push_back(machine_of(instance, region));
  };
  take(root);
  for (const pugi::xml_node& reservation : items(root, "reservationSet"))
    take(reservation);
  return machines;
}

}  // namespace fastgpu::provision::aws
