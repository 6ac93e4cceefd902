#include "cloudsim/apis/tencent/instances.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/ledger.hpp"
#include "cloudsim/world/live.hpp"
#include "cloudsim/world/times.hpp"

namespace fastgpu::cloudsim::tencent {
namespace {

constexpr std::size_t kMostIds = 100;

std::string state_of(State state) {
  switch (state) {
    case State::pending:
      return "PENDING";
    case State::running:
      return "RUNNING";
    case State::stopping:
      return "STOPPING";
    case State::stopped:
      return "STOPPED";
    case State::starting:
      return "STARTING";
    case State::shutting_down:
    case State::terminated:
      return "TERMINATING";
    case State::failed:
      return "LAUNCH_FAILED";
  }
  return "";
}

std::string charge_type(const Instance& instance) {
  return instance.market == Market::spot ? "SPOTPAID" : "POSTPAID_BY_HOUR";
}

std::vector<std::string> none_or(const std::string& value) {
  return value.empty() ? std::vector<std::string>{} : std::vector<std::string>{value};
}

Facts facts_of(const Instance& each) {
  return {{"zone", {each.zone}},
          {"vpc-id", {each.vpc}},
          {"subnet-id", {each.subnet}},
          {"instance-id", {each.id}},
          {"instance-name", {each.name}},
          {"instance-charge-type", {charge_type(each)}},
          {"instance-state", {state_of(each.state)}},
          {"private-ip-address", {each.private_address}},
          {"public-ip-address", none_or(each.public_address)}};
}

std::vector<std::string> ids_of(const TencentCall& call) {
  const std::vector<std::string> ids = call.list("InstanceIds");
  if (ids.size() > kMostIds)
    throw violation("InvalidParameterValue.LimitExceeded", "at most 100 instances in a request");
  for (const std::string& id : ids)
    if (!id.starts_with("ins-"))
      throw violation("InvalidInstanceId.Malformed", "`" + id + "` is no instance id.");
  return ids;
}

/// Returns the selected instances. An unknown id selects nothing and is not an error.
std::vector<const Instance*> selected(const TencentCall& call) {
  check_one_of(call, "InstanceIds");
  const std::vector<std::string> ids = ids_of(call);
  std::vector<const Instance*> out;
  for (const Instance* each : call.world.instances_of(call.scope)) {
    const bool named = ids.empty() || contains(ids, each->id);
    if (named && passes(call, facts_of(*each), each->tags)) out.push_back(each);
  }
  std::ranges::sort(out, std::greater{}, [](const Instance* each) {
    return std::tie(each->created, each->launch_index);
  });
  return out;
}

Json describe_instances(const TencentCall& call) {
  std::vector<Json> items;
  for (const Instance* each : selected(call))
    items.push_back(shape_instance(call, *each));
  return paged(call, "InstanceSet", items, Numbers::whole);
}

Json describe_status(const TencentCall& call) {
  std::vector<Json> items;
  for (const Instance* each : selected(call))
    items.push_back({{"InstanceId", each->id}, {"InstanceState", state_of(each->state)}});
  return paged(call, "InstanceStatusSet", items, Numbers::whole);
}

/// Returns all instances with the request's ids. Throws if one is missing or not in one of
/// `states`.
std::vector<Instance*> all_in(const TencentCall& call, const std::vector<State>& states) {
  std::vector<Instance*> out;
  for (const std::string& id : ids_of(call)) {
    Instance* each = call.world.find_instance(call.scope, id);
    if (each == nullptr)
      throw refusal("InvalidInstanceId.NotFound", "The instance `" + id + "` does not exist.");
    if (!contains(states, each->state)) {
      std::string state = state_of(each->state);
      std::ranges::transform(state.begin() + 1, state.end(), state.begin() + 1,
                             [](unsigned char c) { return char(std::tolower(c)); });
      throw refusal("UnsupportedOperation.InstanceState" + state,
                    "The instance `" + id + "` is in a state that does not allow this.");
    }
    out.push_back(each);
  }
  return out;
}

Json start(const TencentCall& call) {
  for (Instance* each : all_in(call, {State::stopped})) {
    call.world.start(*each);
    each->extra["operation"] = "StartInstances";
  }
  return Json::object();
}

Json stop(const TencentCall& call) {
  const std::string mode = call.text("StoppedMode", "KEEP_CHARGING");
  const std::string type = call.text("StopType", "SOFT");
  if (mode != "KEEP_CHARGING" && mode != "STOP_CHARGING")
    throw violation("InvalidParameterValue", "StoppedMode `" + mode + "` is not supported.");
  if (type != "SOFT" && type != "SOFT_FIRST" && type != "HARD")
    throw violation("InvalidParameterValue", "StopType `" + type + "` is not supported.");
  for (Instance* each : all_in(call, {State::running})) {
    call.world.stop(*each, mode == "KEEP_CHARGING" ? Charging::goes_on : Charging::stops);
    each->extra["operation"] = "StopInstances";
    each->extra["stop_mode"] = mode;
  }
  return Json::object();
}

Json reboot(const TencentCall& call) {
  all_in(call, {State::running});
  return Json::object();
}

Json terminate(const TencentCall& call) {
  const auto all = all_in(call, {State::running, State::stopped, State::failed});
  for (Instance* each : all) {
    if (charge_type(*each) != charge_type(*all.front()))
      throw refusal("UnsupportedOperation.InstanceMixedPricingModel",
                    "Instances of different charge types cannot go in one request.");
  }
  for (Instance* each : all) {
    call.world.terminate(*each);
    each->extra["operation"] = "TerminateInstances";
  }
  return Json::object();
}

Json modify(const TencentCall& call) {
  for (const std::string& id : ids_of(call)) {
    Instance* each = call.world.find_instance(call.scope, id);
    if (each == nullptr)
      throw refusal("InvalidInstanceId.NotFound", "The instance `" + id + "` does not exist.");
    if (call.body.contains("InstanceName")) each->name = call.text("InstanceName");
  }
  return Json::object();
}

Instance& named(const TencentCall& call, const std::string& id) {
  Instance* each = call.world.find_instance(call.scope, id);
  if (each == nullptr)
    throw refusal("InvalidInstanceId.NotFound", "The instance `" + id + "` does not exist.");
  return *each;
}

/// An instance can have only one timer, whose id contains the instance's id.
constexpr std::string_view kTimer = "timer-";

Json import_timer(const TencentCall& call) {
  Json out = {{"ActionTimerIds", Json::array()}};
  for (const std::string& id : ids_of(call))
    if (named(call, id).release_at)
      throw refusal("FailedOperation.MutActionTimerExist", "`" + id + "` has a timer already.");
  for (const std::string& id : ids_of(call)) {
    set_timer(call, call.body.at("ActionTimer"), named(call, id).release_at);
    out["ActionTimerIds"].push_back(std::string(kTimer) + id);
  }
  return out;
}

Json describe_timers(const TencentCall& call) {
  Json timers = Json::array();
  for (const std::string& id : ids_of(call))
    if (const auto& when = named(call, id).release_at)
      timers.push_back({{"ActionTimerId", std::string(kTimer) + id},
                        {"InstanceId", id},
                        {"TimerAction", "TerminateInstances"},
                        {"ActionTime", iso_time(*when)},
                        {"Status", "UNDO"}});
  return {{"ActionTimers", timers}};
}

Json delete_timers(const TencentCall& call) {
  for (const std::string& id : call.list("ActionTimerIds")) {
    if (!id.starts_with(kTimer) || !named(call, id.substr(kTimer.size())).release_at)
      throw refusal("InvalidParameterValue", "`" + id + "` is no timer.");
    named(call, id.substr(kTimer.size())).release_at.reset();
  }
  return Json::object();
}

constexpr TencentAction kInstancesActions[] = {
    {"cvm", "DescribeInstances",
     "InstanceIds "
     "Filters:zone,vpc-id,subnet-id,instance-id,instance-name,instance-charge-type,instance-state,"
     "private-ip-address,public-ip-address Offset Limit",
     describe_instances},
    {"cvm", "DescribeInstancesStatus", "InstanceIds Offset Limit", describe_status},
    {"cvm", "StartInstances", "InstanceIds!", start},
    {"cvm", "StopInstances", "InstanceIds! StopType StoppedMode ForceStop", stop},
    {"cvm", "RebootInstances", "InstanceIds! StopType ForceReboot", reboot},
    {"cvm", "TerminateInstances", "InstanceIds! ReleaseAddress ReleasePrepaidDataDisks", terminate},
    {"cvm", "ModifyInstancesAttribute", "InstanceIds! InstanceName", modify},
    {"cvm", "ImportInstancesActionTimer", "InstanceIds! ActionTimer!", import_timer},
    {"cvm", "DescribeInstancesActionTimer",
     "ActionTimerIds InstanceIds TimerAction EndActionTime StartActionTime StatusList",
     describe_timers},
    {"cvm", "DeleteInstancesActionTimer", "ActionTimerIds!", delete_timers},
};

}  // namespace

void set_timer(const TencentCall& call, const Json& timer, std::optional<Time>& target) {
  const auto time = parse_time(timer.value("ActionTime", ""));
  if (!time || timer.value("TimerAction", "") != "TerminateInstances")
    throw violation("InvalidParameterValue", "ActionTimer has no TerminateInstances and time");
  if (*time < call.world.now() + std::chrono::minutes(5))
    throw refusal("InvalidParameterValue", "ActionTime must be at least 5 minutes ahead.");
  target = *time;
}

Json shape_instance(const TencentCall& call, const Instance& instance) {
  const MachineType& type = *call.catalogue().type(instance.type);
  const bool busy = instance.due || instance.state == State::pending ||
                    instance.state == State::starting || instance.state == State::stopping;
  const bool failed = instance.state == State::failed;
  const bool stopped = instance.state == State::stopped;
  Json out = {{"Placement", {{"Zone", instance.zone}, {"ProjectId", 0}}},
              {"InstanceId", instance.id},
              {"InstanceType", instance.type},
              {"CPU", type.vcpus},
              {"Memory", type.memory_mb / 1024},
              {"RestrictState", "NORMAL"},
              {"InstanceName", instance.name},
              {"InstanceChargeType", charge_type(instance)},
              {"PrivateIpAddresses", none_or(instance.private_address)},
              {"PublicIpAddresses", none_or(told_public_address(call.world, instance))},
              {"VirtualPrivateCloud", {{"VpcId", instance.vpc}, {"SubnetId", instance.subnet}}},
              {"ImageId", instance.image},
              {"CreatedTime", iso_time(instance.created)},
              {"SecurityGroupIds", instance.groups},
              {"LoginSettings", {{"KeyIds", none_or(instance.key)}}},
              {"InstanceState", state_of(instance.state)},
              {"Tags", tag_list(instance.tags)},
              {"StopChargingMode",
               stopped ? instance.extra.value("stop_mode", "KEEP_CHARGING") : "NOT_APPLICABLE"},
              {"LatestOperation", instance.extra.value("operation", "RunInstances")},
              {"LatestOperationState", failed ? "FAILED"
                                       : busy ? "OPERATING"
                                              : "SUCCESS"},
              {"LatestOperationErrorMsg", instance.reason},
              {"HpcClusterId", instance.placement},
              {"RdmaIpAddresses", Json::array()}};
  if (type.gpus > 0)
    out["GPUInfo"] = {{"GPUCount", type.gpus}, {"GPUType", type.gpu_maker + " " + type.gpu}};
  return out;
}

std::span<const TencentAction> instance_actions() {
  return kInstancesActions;
}

}  // namespace fastgpu::cloudsim::tencent
