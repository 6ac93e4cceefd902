#include "cloudsim/apis/huawei/call.hpp"

namespace fastgpu::cloudsim::huawei {
namespace {

bool is_bound(const HuaweiCall& call, const Resource& address) {
  return call.world.find_instance(call.scope, address.data.at("server")) != nullptr;
}

Answered list_addresses(const HuaweiCall& call) {
  std::vector<Json> addresses;
  for (const Resource* each : call.world.resources_of(call.scope, "publicip"))
    addresses.push_back({{"id", each->id},
                         {"public_ip_address", each->data.at("ip")},
                         {"type", each->data.at("type")},
                         {"bandwidth_size", each->data.at("bandwidth").value("size", 0)},
                         {"status", is_bound(call, *each) ? "ACTIVE" : "DOWN"}});
  return {200, marked_page(call, "publicips", addresses)};
}

Answered delete_address(const HuaweiCall& call) {
  Resource& address = resource(call, "publicip", call.path.at("publicip_id"));
  if (is_bound(call, address)) throw Refusal(409, "VPC.0510", "The address is bound to a server.");
  call.world.remove(address);
  return {204, {}};
}

constexpr HuaweiAction kAddressesActions[] = {
    {"eip", "ListPublicips", "GET", "/v1/{project_id}/publicips", "", list_addresses},
    {"eip", "DeletePublicip", "DELETE", "/v1/{project_id}/publicips/{publicip_id}", "",
     delete_address},
};

}  // namespace

std::span<const HuaweiAction> address_actions() {
  return kAddressesActions;
}

}  // namespace fastgpu::cloudsim::huawei
