#include "cloudsim/apis/aws/ec2.hpp"
#include "cloudsim/apis/aws/instances.hpp"
#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

using Change = void (*)(SimulatedWorld&, Instance&);

/// Changes all instances or none: if one id is wrong, the request is refused.
Json change_all(const Ec2Call& call, Change change) {
  std::vector<Instance*> all;
  for (const std::string& id : call.params.list("InstanceId"))
    all.push_back(&instance(call, id));
  stop_if_dry_run(call.params);
  Json out = {{"instancesSet", Json::array()}};
  for (Instance* each : all) {
    const Json before = state_of(*each);
    change(call.world, *each);
    out["instancesSet"].push_back(
        {{"instanceId", each->id}, {"currentState", state_of(*each)}, {"previousState", before}});
  }
  return out;
}

Json start(const Ec2Call& call) {
  return change_all(call, [](SimulatedWorld& world, Instance& each) {
    world.start(each);
    if (each.extra.value("auto_public", false)) each.public_address = world.new_public_address();
  });
}

Json stop(const Ec2Call& call) {
  return change_all(call, [](SimulatedWorld& world, Instance& each) {
    if (each.market == Market::spot)
      throw Refusal(400, "UnsupportedOperation",
                    "You can't stop the Spot Instance '" + each.id +
                        "' because it is associated with a one-time Spot Instance request.");
    world.stop(each);
    if (each.extra.value("auto_public", false)) each.public_address.clear();
  });
}

Json terminate(const Ec2Call& call) {
  return change_all(call, [](SimulatedWorld& world, Instance& each) { world.terminate(each); });
}

Json reboot(const Ec2Call& call) {
  change_all(call, [](SimulatedWorld&, Instance& each) {
    if (each.state != State::running)
      throw ApiFailure(ApiFailureKind::wrong_state, each.id, "it is not running");
  });
  return ok();
}

Json modify_instance(const Ec2Call& call) {
  Instance& each = instance(call, call.params.get("InstanceId"));
  stop_if_dry_run(call.params);
  const std::string behaviour = call.params.get(
      "InstanceInitiatedShutdownBehavior.Value",
      call.params.get("Attribute") == "instanceInitiatedShutdownBehavior" ? call.params.get("Value")
                                                                          : "");
  if (!behaviour.empty()) set_shutdown_behaviour(each, behaviour);
  if (call.params.find("InstanceType.Value") && each.state != State::stopped)
    throw ApiFailure(ApiFailureKind::wrong_state, each.id, "it is not stopped");
  return ok();
}

constexpr Ec2Action kPowerActions[] = {
    {"StartInstances", "InstanceId! AdditionalInfo", start},
    {"StopInstances", "InstanceId! Force Hibernate SkipOsShutdown", stop},
    {"TerminateInstances", "InstanceId! Force SkipOsShutdown", terminate},
    {"RebootInstances", "InstanceId!", reboot},
    {"ModifyInstanceAttribute",
     "InstanceId! Attribute Value InstanceInitiatedShutdownBehavior InstanceType "
     "DisableApiTermination GroupId SourceDestCheck",
     modify_instance},
};

}  // namespace

std::span<const Ec2Action> power_actions() {
  return kPowerActions;
}

}  // namespace fastgpu::cloudsim::aws
