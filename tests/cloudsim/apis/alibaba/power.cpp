#include "cloudsim/apis/alibaba/call.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

std::vector<Instance*> named(const AlibabaCall& call) {
  std::vector<Instance*> all;
  for (const std::string& id : call.params.list("InstanceId"))
    all.push_back(&instance(call, id));
  if (all.empty() || all.size() > 100)
    throw ProtocolViolation(400, "InvalidInstanceId.Malformed", "InstanceId.N are 1 to 100.");
  return all;
}

void want(const Instance& instance, State state) {
  if (instance.state != state)
    throw ApiFailure(ApiFailureKind::wrong_state, instance.id, "it is in another state");
}

/// Changes all instances or none: if one is in a wrong state, the request is refused.
template <class Change>
Json change_all(const AlibabaCall& call, State from, const char* before, const char* after,
                Change change) {
  const std::vector<Instance*> all = named(call);
  for (const Instance* each : all)
    want(*each, from);
  stop_if_dry_run(call.params, "DRYRUN.SUCCESS");
  Json list = Json::array();
  for (Instance* each : all) {
    change(*each);
    list.push_back({{"InstanceId", each->id},
                    {"Code", "200"},
                    {"Message", "success"},
                    {"PreviousStatus", before},
                    {"CurrentStatus", after}});
  }
  return {{"InstanceResponses", {{"InstanceResponse", list}}}};
}

Json start(const AlibabaCall& call) {
  return change_all(call, State::stopped, "Stopped", "Starting", [&](Instance& each) {
    call.world.start(each);
    each.extra["stopped_mode"] = "Not-applicable";
    const bool is_public = each.extra.value("bandwidth", 0) > 0;
    if (is_public && each.public_address.empty())
      each.public_address = call.world.new_public_address();
  });
}

Json stop(const AlibabaCall& call) {
  const std::string mode = call.params.get("StoppedMode", "KeepCharging");
  if (mode != "StopCharging" && mode != "KeepCharging")
    throw ProtocolViolation(400, "InvalidParameter.StoppedMode", mode + " is none.");
  const bool is_free = mode == "StopCharging";
  return change_all(call, State::running, "Running", "Stopping", [&](Instance& each) {
    call.world.stop(each, is_free ? Charging::stops : Charging::goes_on);
    each.extra["stopped_mode"] = mode;
    if (is_free) each.public_address.clear();
  });
}

Json reboot(const AlibabaCall& call) {
  return change_all(call, State::running, "Running", "Starting", [](Instance&) {});
}

Json remove(const AlibabaCall& call) {
  const std::vector<Instance*> all = named(call);
  const bool is_forced = is_on(call.params, "Force");
  for (const Instance* each : all) {
    if (each->state == State::pending)
      throw Refusal(403, "IncorrectInstanceStatus.Initializing",
                    "The instance " + each->id + " is being initialized.");
    if (!is_forced) want(*each, State::stopped);
  }
  stop_if_dry_run(call.params, "DRYRUN.SUCCESS");
  for (Instance* each : all)
    call.world.terminate(*each);
  return Json::object();
}

Json set_release_time(const AlibabaCall& call) {
  Instance& each = instance(call, call.params.get("InstanceId"));
  each.release_at.reset();
  if (const std::string text = call.params.get("AutoReleaseTime"); !text.empty())
    each.release_at = read_release_time(call, text);
  return Json::object();
}

Json modify(const AlibabaCall& call) {
  Instance& each = instance(call, call.params.get("InstanceId"));
  each.name = call.params.get("InstanceName", each.name);
  return Json::object();
}

constexpr AlibabaAction kPowerActions[] = {
    {"ecs", "StartInstances", "RegionId! InstanceId! BatchOptimization DryRun", start},
    {"ecs", "StopInstances", "RegionId! InstanceId! BatchOptimization StoppedMode ForceStop DryRun",
     stop},
    {"ecs", "RebootInstances", "RegionId! InstanceId! BatchOptimization ForceReboot DryRun",
     reboot},
    {"ecs", "DeleteInstances",
     "RegionId! InstanceId! Force ForceStop TerminateSubscription ClientToken DryRun", remove},
    {"ecs", "ModifyInstanceAutoReleaseTime", "RegionId InstanceId! AutoReleaseTime",
     set_release_time},
    {"ecs", "ModifyInstanceAttribute", "InstanceId! InstanceName HostName Description", modify},
};

}  // namespace

std::span<const AlibabaAction> power_actions() {
  return kPowerActions;
}

}  // namespace fastgpu::cloudsim::alibaba
