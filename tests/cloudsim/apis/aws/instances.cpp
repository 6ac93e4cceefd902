#include "cloudsim/apis/aws/instances.hpp"

#include <algorithm>

#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

int code_of(State state) {
  switch (state) {
    case State::pending:
    case State::starting:
      return 0;
    case State::running:
      return 16;
    case State::shutting_down:
      return 32;
    case State::terminated:
    case State::failed:
      return 48;
    case State::stopping:
      return 64;
    case State::stopped:
      return 80;
  }
  return 0;
}

std::string name_of(State state) {
  if (state == State::starting) return "pending";
  return std::string(state_name(state == State::failed ? State::terminated : state));
}

std::string dashed_address(std::string address) {
  std::ranges::replace(address, '.', '-');
  return "ip-" + address;
}

Json interfaces_of(const Ec2Call& call, const Instance& instance) {
  Json out = Json::array();
  for (const std::string& id : instance.attached)
    if (const Resource* each = call.world.find(call.scope, "interface", id)) {
      out.push_back(shape_interface(*each));
      out.back().erase("availabilityZone");  // The instance has this field in another place.
      out.back()["attachment"].erase("instanceId");
    }
  return out;
}

Json volumes_of(const Ec2Call& call, const Instance& instance) {
  Json out = Json::array();
  for (const std::string& id : instance.attached)
    if (const Resource* each = call.world.find(call.scope, "volume", id))
      out.push_back({{"deviceName", each->data.at("device")},
                     {"ebs",
                      {{"volumeId", id},
                       {"status", "attached"},
                       {"deleteOnTermination", each->data.at("delete")}}}});
  return out;
}

Facts facts_of(const Instance& each) {
  return {{"instance-state-name", {name_of(each.state)}},
          {"instance-state-code", {std::to_string(code_of(each.state))}},
          {"vpc-id", {each.vpc}},
          {"subnet-id", {each.subnet}},
          {"client-token", {each.token}},
          {"instance-id", {each.id}},
          {"instance-type", {each.type}},
          {"availability-zone", {each.zone}},
          {"image-id", {each.image}},
          {"key-name", {each.key}},
          {"reservation-id", {each.reservation}},
          {"private-ip-address", {each.private_address}},
          {"ip-address", {each.public_address}},
          {"placement-group-name", {each.placement}},
          {"instance.group-id", each.groups},
          {"instance-lifecycle", each.market == Market::spot ? std::vector<std::string>{"spot"}
                                                             : std::vector<std::string>{}}};
}

/// Returns the instances that ids and filters select, in the order of their launch.
std::vector<const Instance*> selected(const Ec2Call& call) {
  const std::vector<std::string> ids = call.params.list("InstanceId");
  if (!ids.empty() && call.params.find("MaxResults"))
    throw ProtocolViolation(
        400, "InvalidParameterCombination",
        "The parameter instancesSet cannot be used with the parameter maxResults");
  std::vector<const Instance*> out;
  if (ids.empty())
    for (const Instance* each : call.world.instances_of(call.scope))
      out.push_back(each);
  for (const std::string& id : ids)
    out.push_back(&instance(call, id));
  std::erase_if(
      out, [&](const Instance* each) { return !passes(call.params, facts_of(*each), each->tags); });
  std::ranges::sort(out, {}, [](const Instance* each) {
    return std::tie(each->created, each->reservation, each->launch_index);
  });
  return out;
}

Json describe_instances(const Ec2Call& call) {
  const std::vector<const Instance*> found = selected(call);
  const Page part = page(call.params, found.size(), 5, 1000);
  Json reservations = Json::array();
  for (std::size_t i = part.begin; i < part.end; ++i) {
    const std::string& reservation = found[i]->reservation;
    if (reservations.empty() || reservations.back().at("reservationId") != reservation)
      reservations.push_back({{"reservationId", reservation},
                              {"ownerId", call.scope.account},
                              {"groupSet", Json::array()},
                              {"instancesSet", Json::array()}});
    reservations.back()["instancesSet"].push_back(shape_instance(call, *found[i]));
  }
  Json out = {{"reservationSet", reservations}};
  if (!part.next.empty()) out["nextToken"] = part.next;
  return out;
}

Json describe_status(const Ec2Call& call) {
  Json out = {{"instanceStatusSet", Json::array()}};
  std::vector<const Instance*> found = selected(call);
  if (!call.params.flag("IncludeAllInstances"))
    std::erase_if(found, [](const Instance* each) { return each->state != State::running; });
  const Page part = page(call.params, found.size(), 5, 1000);
  for (std::size_t i = part.begin; i < part.end; ++i)
    out["instanceStatusSet"].push_back({{"instanceId", found[i]->id},
                                        {"availabilityZone", found[i]->zone},
                                        {"instanceState", state_of(*found[i])},
                                        {"instanceStatus", {{"status", "ok"}}},
                                        {"systemStatus", {{"status", "ok"}}}});
  if (!part.next.empty()) out["nextToken"] = part.next;
  return out;
}

constexpr Ec2Action kInstancesActions[] = {
    {"DescribeInstances",
     "InstanceId "
     "Filter:instance-state-name,instance-state-code,vpc-id,subnet-id,client-token,instance-id,"
     "instance-type,availability-zone,image-id,key-name,reservation-id,private-ip-address,ip-"
     "address,placement-group-name,instance.group-id,instance-lifecycle MaxResults NextToken",
     describe_instances},
    {"DescribeInstanceStatus",
     "InstanceId "
     "Filter:instance-state-name,instance-state-code,vpc-id,subnet-id,client-token,instance-id,"
     "instance-type,availability-zone,image-id,key-name,reservation-id,private-ip-address,ip-"
     "address,placement-group-name,instance.group-id,instance-lifecycle MaxResults NextToken "
     "IncludeAllInstances",
     describe_status},
};

}  // namespace

Json shape_interface(const Resource& each) {
  Json groups = Json::array();
  for (const Json& group : each.data.at("groups"))
    groups.push_back({{"groupId", group}});
  return {{"networkInterfaceId", each.id},
          {"subnetId", each.data.at("subnet")},
          {"vpcId", each.data.at("vpc")},
          {"availabilityZone", each.data.at("zone")},
          {"status", "in-use"},
          {"interfaceType", each.data.at("type")},
          {"privateIpAddress", each.data.at("address")},
          {"groupSet", groups},
          {"attachment",
           {{"instanceId", each.data.at("instance")},
            {"deviceIndex", each.data.at("device")},
            {"networkCardIndex", each.data.at("card")},
            {"status", "attached"},
            {"deleteOnTermination", each.data.at("delete")}}}};
}

Json state_of(const Instance& instance) {
  return {{"code", code_of(instance.state)}, {"name", name_of(instance.state)}};
}

void set_shutdown_behaviour(Instance& instance, const std::string& behaviour) {
  if (behaviour != "stop" && behaviour != "terminate")
    throw ProtocolViolation(
        400, "InvalidParameterValue",
        "Value (" + behaviour + ") for parameter instanceInitiatedShutdownBehavior is invalid.");
  instance.terminate_on_shutdown = behaviour == "terminate";
}

Json shape_instance(const Ec2Call& call, const Instance& instance) {
  const bool up = instance.state == State::running || instance.state == State::stopping;
  const bool gone = instance.state == State::terminated;
  const MachineType& type = *call.catalogue().type(instance.type);
  Json out = {{"instanceId", instance.id},
              {"imageId", instance.image},
              {"instanceState", state_of(instance)},
              {"instanceType", instance.type},
              {"amiLaunchIndex", instance.launch_index},
              {"launchTime", iso_time(instance.created)},
              {"architecture", type.architecture},
              {"placement",
               {{"availabilityZone", instance.zone},
                {"groupName", instance.placement},
                {"tenancy", "default"}}},
              {"clientToken", instance.token},
              {"reason", instance.reason},
              {"rootDeviceType", "ebs"},
              {"rootDeviceName", "/dev/sda1"},
              {"cpuOptions", {{"coreCount", type.vcpus / 2}, {"threadsPerCore", 2}}},
              {"tagSet", tag_set(instance.tags)}};
  if (!instance.key.empty()) out["keyName"] = instance.key;
  if (instance.market == Market::spot) out["instanceLifecycle"] = "spot";
  if (instance.state == State::failed || instance.reason == "reclaimed")
    out["stateReason"] = {
        {"code", instance.state == State::failed ? "Server.InternalError"
                                                 : "Server.SpotInstanceTermination"},
        {"message", instance.reason}};
  if (gone || instance.state == State::failed) return out;
  out["privateIpAddress"] = instance.private_address;
  out["privateDnsName"] = dashed_address(instance.private_address) + ".ec2.internal";
  out["subnetId"] = instance.subnet;
  out["vpcId"] = instance.vpc;
  if (up && !instance.public_address.empty()) out["ipAddress"] = instance.public_address;
  out["groupSet"] = Json::array();
  for (const std::string& group : instance.groups)
    out["groupSet"].push_back({{"groupId", group}});
  out["networkInterfaceSet"] = interfaces_of(call, instance);
  out["blockDeviceMapping"] = volumes_of(call, instance);
  return out;
}

std::span<const Ec2Action> instance_actions() {
  return kInstancesActions;
}

}  // namespace fastgpu::cloudsim::aws
