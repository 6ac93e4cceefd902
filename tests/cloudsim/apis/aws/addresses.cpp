#include <algorithm>

#include "cloudsim/apis/aws/ec2.hpp"
#include "cloudsim/apis/aws/instances.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

Json shape_address(const Ec2Call&, const Resource& address) {
  Json out = {{"publicIp", address.data.at("ip")},
              {"allocationId", address.id},
              {"domain", "vpc"},
              {"tagSet", tag_set(address.tags)}};
  if (address.data.contains("association"))
    out.update({{"associationId", address.data.at("association")},
                {"instanceId", address.data.at("instance")},
                {"networkInterfaceId", address.data.at("interface")}});
  return out;
}

Facts address_facts(const Resource& address) {
  return {{"allocation-id", {address.id}},
          {"public-ip", {address.data.at("ip")}},
          {"domain", {"vpc"}},
          {"association-id", {address.data.value("association", "")}},
          {"network-interface-id", {address.data.value("interface", "")}},
          {"instance-id", {address.data.value("instance", "")}}};
}

Json allocate(const Ec2Call& call) {
  if (call.params.get("Domain", "vpc") != "vpc")
    throw ProtocolViolation(400, "InvalidParameterValue", "Domain must be vpc");
  const auto limit = call.catalogue().quota(call.scope.region, "addresses");
  if (limit && double(call.world.resources_of(call.scope, "address").size()) >= *limit)
    throw Refusal(400, "AddressLimitExceeded", "The maximum number of addresses has been reached.");
  stop_if_dry_run(call.params);
  Resource& made = call.world.add(call.scope, "address", call.world.new_id("eipalloc-", 17));
  made.data = {{"ip", call.world.new_public_address()}};
  made.tags = tags_for(call.params, "elastic-ip");
  return {{"publicIp", made.data.at("ip")}, {"allocationId", made.id}, {"domain", "vpc"}};
}

/// Returns the primary interface of an instance.
Resource& primary_of(const Ec2Call& call, const Instance& owner) {
  for (const std::string& id : owner.attached)
    if (Resource* found = call.world.find(call.scope, "interface", id)) return *found;
  throw Refusal(400, "InvalidInstanceID", owner.id + " has no network interface");
}

Json associate(const Ec2Call& call) {
  Resource& address = resource(call, "address", call.params.get("AllocationId"));
  const Resource& interface =
      call.params.find("NetworkInterfaceId")
          ? resource(call, "interface", call.params.get("NetworkInterfaceId"))
          : primary_of(call, instance(call, call.params.get("InstanceId")));
  Instance& owner = instance(call, interface.data.at("instance"));
  if (owner.state != State::running && owner.state != State::stopped)
    throw Refusal(
        400, "IncorrectInstanceState",
        "The pending instance '" + owner.id + "' is not in a valid state for this operation.");
  const bool elsewhere =
      address.data.contains("association") && address.data.at("interface") != interface.id;
  if (elsewhere && !call.params.flag("AllowReassociation", true))
    throw Refusal(400, "Resource.AlreadyAssociated", address.id + " is already associated");
  address.data["association"] = call.world.new_id("eipassoc-", 17);
  address.data["instance"] = owner.id;
  address.data["interface"] = interface.id;
  owner.public_address = address.data.at("ip");
  owner.extra["auto_public"] = false;
  Json out = ok();
  out["associationId"] = address.data.at("association");
  return out;
}

void detach(const Ec2Call& call, Resource& address) {
  if (Instance* owner = call.world.find_instance(call.scope, address.data.value("instance", "")))
    owner->public_address.clear();
  for (const char* key : {"association", "instance", "interface"})
    address.data.erase(key);
}

Json disassociate(const Ec2Call& call) {
  const std::string id = call.params.get("AssociationId");
  for (Resource* address : call.world.resources_of(call.scope, "address"))
    if (address->data.value("association", "") == id) {
      detach(call, *address);
      return ok();
    }
  throw Refusal(400, "InvalidAssociationID.NotFound",
                "The association ID '" + id + "' does not exist");
}

Json release(const Ec2Call& call) {
  Resource& address = resource(call, "address", call.params.get("AllocationId"));
  const std::string interface = address.data.value("interface", "");
  if (call.world.find(call.scope, "interface", interface) != nullptr)
    throw Refusal(400, "InvalidIPAddress.InUse",
                  "The address with allocation id " + address.id + " is in use");
  call.world.remove(address);
  return ok();
}

Json describe_addresses(const Ec2Call& call) {
  return describe(call, "address", "AllocationId", "addressesSet", address_facts, shape_address);
}

Facts interface_facts(const Resource& each) {
  return {{"network-interface-id", {each.id}},
          {"vpc-id", {each.data.at("vpc")}},
          {"subnet-id", {each.data.at("subnet")}},
          {"status", {"in-use"}},
          {"group-id", each.data.at("groups").get<std::vector<std::string>>()},
          {"attachment.instance-id", {each.data.at("instance")}},
          {"attachment.device-index", {std::to_string(each.data.at("device").get<int>())}}};
}

Json describe_interfaces(const Ec2Call& call) {
  return describe(call, "interface", "NetworkInterfaceId", "networkInterfaceSet", interface_facts,
                  [](const Ec2Call&, const Resource& each) { return shape_interface(each); });
}

constexpr Ec2Action kAddressesActions[] = {
    {"AllocateAddress", "Domain TagSpecification", allocate},
    {"AssociateAddress", "AllocationId! InstanceId NetworkInterfaceId AllowReassociation",
     associate},
    {"DisassociateAddress", "AssociationId!", disassociate},
    {"ReleaseAddress", "AllocationId!", release},
    {"DescribeAddresses",
     "AllocationId PublicIp "
     "Filter:allocation-id,public-ip,domain,association-id,network-interface-id,instance-id",
     describe_addresses},
    {"DescribeNetworkInterfaces",
     "NetworkInterfaceId "
     "Filter:network-interface-id,vpc-id,subnet-id,status,group-id,attachment.instance-id,"
     "attachment.device-index MaxResults NextToken",
     describe_interfaces},
};

}  // namespace

std::span<const Ec2Action> address_actions() {
  return kAddressesActions;
}

}  // namespace fastgpu::cloudsim::aws
