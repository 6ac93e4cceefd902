
#include "base/contains.hpp"
#include "cloudsim/apis/tencent/call.hpp"
#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::tencent {
namespace {

Json task(const TencentCall& call) {
  return {{"TaskId", std::to_string(std::stoul(call.world.new_id("", 6), nullptr, 16))}};
}

/// Returns the live instance to which the address is bound; "" if there is none.
std::string bound_to(const TencentCall& call, const Resource& address) {
  const std::string id = address.data.value("instance", "");
  const Instance* instance = call.world.find_instance(call.scope, id);
  return instance == nullptr ? "" : id;
}

Json allocate(const TencentCall& call) {
  const int count = call.body.value("AddressCount", 1);
  const std::string token = call.text("ClientToken");
  Json out = task(call);
  for (const Resource* each : call.world.resources_of(call.scope, "address"))
    if (!token.empty() && each->data.at("token") == token) out["AddressSet"].push_back(each->id);
  if (out.contains("AddressSet")) return out;
  const auto limit = call.catalogue().quota(call.scope.region, "addresses");
  const auto there = call.world.resources_of(call.scope, "address").size();
  if (limit && double(there) + count > *limit)
    throw refusal("AddressQuotaLimitExceeded", "The account has as many addresses as it may.");
  for (int i = 0; i < count; ++i) {
    Resource& made = call.world.add(call.scope, "address", call.world.new_id("eip-", 8));
    made.name = call.text("AddressName");
    made.data = {{"ip", call.world.new_public_address()}, {"token", token}};
    made.tags = read_tags(call.body.value("Tags", Json::array()));
    out["AddressSet"].push_back(made.id);
  }
  return out;
}

Json shape_address(const TencentCall& call, const Resource& address) {
  const std::string instance = bound_to(call, address);
  return {{"AddressId", address.id},
          {"AddressName", address.name},
          {"AddressStatus", instance.empty() ? "UNBIND" : "BIND"},
          {"AddressIp", address.data.at("ip")},
          {"InstanceId", instance},
          {"CreatedTime", iso_time(address.created)},
          {"AddressType", "EIP"},
          {"TagSet", tag_list(address.tags)}};
}

Json describe_addresses(const TencentCall& call) {
  check_one_of(call, "AddressIds");
  const std::vector<std::string> ids = call.list("AddressIds");
  std::vector<Json> items;
  for (const Resource* each : call.world.resources_of(call.scope, "address")) {
    const std::string instance = bound_to(call, *each);
    if ((ids.empty() || contains(ids, each->id)) &&
        passes(call,
               {{"address-id", {each->id}},
                {"address-name", {each->name}},
                {"address-ip", {each->data.at("ip")}},
                {"address-status", {instance.empty() ? "UNBIND" : "BIND"}},
                {"instance-id", {instance}}},
               each->tags))
      items.push_back(shape_address(call, *each));
  }
  return paged(call, "AddressSet", items, Numbers::whole);
}

Json associate(const TencentCall& call) {
  Resource& address = resource(call, "address", call.text("AddressId"));
  Instance* instance = call.world.find_instance(call.scope, call.text("InstanceId"));
  if (instance == nullptr)
    throw refusal("InvalidInstanceId.NotFound",
                  "The instance `" + call.text("InstanceId") + "` does not exist.");
  if (!bound_to(call, address).empty())
    throw refusal("InvalidAddressId.StatusNotPermit", "The address is bound already.");
  address.data["instance"] = instance->id;
  instance->public_address = address.data.at("ip");
  return task(call);
}

Json disassociate(const TencentCall& call) {
  Resource& address = resource(call, "address", call.text("AddressId"));
  Instance* instance = call.world.find_instance(call.scope, bound_to(call, address));
  if (instance != nullptr) instance->public_address.clear();
  address.data.erase("instance");
  return task(call);
}

Json release(const TencentCall& call) {
  std::vector<Resource*> all;
  for (const std::string& id : call.list("AddressIds")) {
    all.push_back(&resource(call, "address", id));
    if (!bound_to(call, *all.back()).empty())
      throw refusal("InvalidAddressIdStatus.NotPermit", "The address `" + id + "` is bound.");
  }
  for (Resource* each : all)
    call.world.remove(*each);
  return task(call);
}

constexpr TencentAction kAddressesActions[] = {
    {"vpc", "AllocateAddresses",
     "AddressCount InternetServiceProvider InternetChargeType InternetMaxBandwidthOut AddressType "
     "Tags AddressName ClientToken",
     allocate},
    {"vpc", "DescribeAddresses",
     "AddressIds Filters:address-id,address-name,address-ip,address-status,instance-id Offset "
     "Limit",
     describe_addresses},
    {"vpc", "AssociateAddress", "AddressId! InstanceId! NetworkInterfaceId PrivateIpAddress",
     associate},
    {"vpc", "DisassociateAddress", "AddressId! ReallocateNormalPublicIp", disassociate},
    {"vpc", "ReleaseAddresses", "AddressIds!", release},
};

}  // namespace

std::span<const TencentAction> address_actions() {
  return kAddressesActions;
}

}  // namespace fastgpu::cloudsim::tencent
