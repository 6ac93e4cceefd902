#include "provision/providers/tencent/tencent_cloud.hpp"

#include <algorithm>
#include <functional>

#include "base/counted.hpp"
#include "provision/cloud/accepted_machines.hpp"
#include "provision/cloud/batches.hpp"
#include "provision/cloud/in_parts.hpp"
#include "provision/providers/tencent/machines.hpp"

namespace fastgpu::provision::tencent {
namespace {

using namespace std::chrono_literals;
using cloud::Machine;
using cloud::MachineState;
using std::chrono::milliseconds;

/// The time after its launch for which an instance may be missing from lists and unknown to calls.
constexpr milliseconds kListedAfter = 5s;

TencentCall about(const std::string& region, const std::string& action,
                  std::span<const std::string> ids, const std::string& doing) {
  return {.region = region,
          .action = action,
          .body = {{"InstanceIds", std::vector<std::string>(ids.begin(), ids.end())}},
          .doing = doing + " " + counted(ids.size(), "machine") + " in " + region};
}

/// Returns true if a refusal is about a machine's present state, which may change.
bool may_pass(const cloud::RefusedId& one) {
  return one.error.kind() == ErrorKind::conflict || one.error.kind() == ErrorKind::not_found;
}

}  // namespace

bool TencentCloud::has_credentials() {
  return api_.caller().has_credentials();
}

std::string TencentCloud::account(const Cancel& cancel) {
  const JsonAnswer answer = api_.call(
      {.service = "sts", .action = "GetCallerIdentity", .doing = "identifying the account"},
      cancel);
  return Answer(answer)["Arn"].text();
}

std::vector<std::string> TencentCloud::regions(const Cancel& cancel) {
  const JsonAnswer answer =
      api_.call({.action = "DescribeRegions", .doing = "listing regions"}, cancel);
  std::vector<std::string> names;
  for (const Answer& region : Answer(answer)["RegionSet"].items())
    if (region["RegionState"].text() == "AVAILABLE" && !region["Region"].text().empty())
      names.push_back(region["Region"].text());
  return names;
}

std::vector<Machine> TencentCloud::described(const std::string& region,
                                             std::span<const std::string> ids,
                                             const Cancel& cancel) {
  std::vector<Machine> found;
  const auto look = [&](std::span<const std::string> some) {
    const TencentCall call = about(region, "DescribeInstances", some, "looking at");
    std::ranges::move(machines_in(api_.list(call, "InstanceSet", cancel), region),
                      std::back_inserter(found));
  };
  cloud::throw_refused(cloud::order_in_parts(ids, look));
  return found;
}

/// Launches machines. The answer has only their ids: the node of each is read from its name, once
/// it is listed.
std::vector<Machine> TencentCloud::launch(const cloud::Launch& launch, const Cancel& cancel) {
  if (is_hpc(launch.type) && !launch.network.contains("hpc-cluster"))
    throw Error(ErrorKind::usage, "tencent: machines of type " + launch.type +
                                      " are connected by RDMA: ask for it with --rdma");
  const std::string doing =
      "launching " + std::to_string(launch.count) + " " + launch.type + " in " + launch.site.zone;
  const JsonAnswer answer =
      api_.call({.region = launch.site.region,
                 .action = "RunInstances",
                 .body = launch_body(launch, std::chrono::system_clock::now()),
                 .doing = doing},
                cancel);
  return cloud::accepted_machines("tencent", launch, launched_in(Answer(answer)));
}

/// Tries the launch in any existing subnet of the zone.
std::optional<cloud::Failure> TencentCloud::try_launch(const cloud::Trial& trial,
                                                       const Cancel& cancel) {
  const JsonAnswer subnets =
      api_.call({.service = "vpc",
                 .region = trial.site.region,
                 .action = "DescribeSubnets",
                 .body = {{"Filters", json::array({filter("zone", {trial.site.zone})})}},
                 .doing = "looking for a network in " + trial.site.zone},
                cancel);
  const auto found = Answer(subnets)["SubnetSet"].items();
  if (found.empty()) return cloud::Failure{.message = "no network"};
  const Answer& subnet = found.front();
  return api_.try_call(
      {.region = trial.site.region,
       .action = "RunInstances",
       .body = {{"Placement", {{"Zone", trial.site.zone}}},
                {"InstanceType", trial.type},
                {"ImageId", trial.image},
                {"InstanceCount", trial.count},
                {"VirtualPrivateCloud",
                 {{"VpcId", subnet["VpcId"].text()}, {"SubnetId", subnet["SubnetId"].text()}}},
                {"DryRun", true}},
       .doing = {}},
      cancel);
}

std::vector<Machine> TencentCloud::machines(const std::string& region,
                                            const state::ClusterId& cluster, const Cancel& cancel) {
  const auto instances = api_.list({.region = region,
                                    .action = "DescribeInstances",
                                    .body = {{"Filters", json::array({marked(cluster)})}},
                                    .doing = "listing machines in " + region},
                                   "InstanceSet", cancel);
  return machines_in(instances, region);
}

/// An order about machines, and the states in which a machine needs it.
struct TencentCloud::Change {
  std::string action;
  std::string doing;
  json parameters = json::object();
  bool (*is_due)(MachineState state);
  bool is_start = false;
};

/// Gives the order only to machines that still need it. The cloud refuses it for all if one machine
/// is changing already, and the answer to an earlier attempt may have been lost.
void TencentCloud::change(const std::string& region, std::span<const std::string> ids,
                          const Change& change, const Cancel& cancel) {
  const auto order = [&](std::span<const std::string> some) {
    TencentCall call = about(region, change.action, some, change.doing);
    call.is_start = change.is_start;
    call.body.update(change.parameters);
    api_.call(call, cancel);
  };
  const auto due = [&] {
    std::vector<Machine> machines = described(region, ids, cancel);
    std::erase_if(machines, [&](const Machine& machine) { return !change.is_due(machine.state); });
    return machines;
  };
  cloud::order_due(due, order, may_pass);
}

void TencentCloud::start(const std::string& region, std::span<const std::string> ids,
                         const Cancel& cancel) {
  change(region, ids,
         {.action = "StartInstances",
          .doing = "starting",
          .is_due = [](MachineState state) { return state == MachineState::stopped; },
          .is_start = true},
         cancel);
}

void TencentCloud::stop(const std::string& region, std::span<const std::string> ids,
                        const Cancel& cancel) {
  change(region, ids,
         {.action = "StopInstances",
          .doing = "stopping",
          .parameters = {{"StoppedMode", "STOP_CHARGING"}, {"StopType", "SOFT_FIRST"}},
          .is_due =
              [](MachineState state) {
                return state == MachineState::running || state == MachineState::pending;
              }},
         cancel);
}

/// Ends machines. The cloud refuses a whole call if one of its machines is gone, ending or still
/// being made: such machines are left out or ended later.
void TencentCloud::terminate(const std::string& region, std::span<const std::string> ids) {
  constexpr milliseconds kPause = 1s;
  constexpr milliseconds kTimeout = 10min;
  const auto order = [&](std::span<const std::string> some) {
    TencentCall call = about(region, "TerminateInstances", some, "ending");
    call.body["ReleaseAddress"] = true;
    api_.call(call, never_);
  };
  std::vector<std::string> left(ids.begin(), ids.end());
  std::vector<cloud::RefusedId> others;
  for (milliseconds waited{0}; !left.empty(); waited += kPause) {
    auto refused = cloud::order_in_parts(left, order);
    std::ranges::copy_if(refused, std::back_inserter(others), std::not_fn(may_pass));
    std::erase_if(refused, std::not_fn(may_pass));
    if (refused.empty()) break;
    if (waited >= kTimeout) throw refused.front().error;
    left.clear();
    for (const cloud::RefusedId& one : refused)
      left.push_back(one.id);
    wait_(kPause, never_);
    const std::vector<Machine> listed = described(region, left, never_);
    std::erase_if(left, [&](const std::string& id) {
      const auto machine = std::ranges::find(listed, id, &Machine::id);
      if (machine == listed.end()) return waited + kPause >= kListedAfter;
      return machine->state == MachineState::ending;
    });
  }
  cloud::throw_refused(others);
}

/// Sets the timer of machines. A machine has one timer, which cannot be changed: it is removed and
/// made again.
void TencentCloud::release_at(const std::string& region, std::span<const std::string> ids,
                              std::optional<std::chrono::system_clock::time_point> when,
                              const Cancel& cancel) {
  const auto order = [&](std::span<const std::string> some) {
    if (!when) return remove_timers(region, some, cancel);
    TencentCall call = about(region, "ImportInstancesActionTimer", some, "setting the timer of");
    call.body["ActionTimer"] = end_timer(*when, std::chrono::system_clock::now());
    const auto failure = api_.try_call(call, cancel);
    if (!failure) return;
    if (failure->code != "FailedOperation.MutActionTimerExist")
      throw cloud::error_of(*failure, "tencent: " + call.doing);
    remove_timers(region, some, cancel);
    api_.call(call, cancel);
  };
  cloud::order_known(ids, order, wait_, cancel);
}

cloud::TimePoint TencentCloud::timer_at(cloud::TimePoint wished, cloud::TimePoint now) const {
  return timer_time(wished, now);
}

void TencentCloud::remove_timers(const std::string& region, std::span<const std::string> ids,
                                 const Cancel& cancel) {
  TencentCall look = about(region, "DescribeInstancesActionTimer", ids, "looking for timers of");
  look.body["StatusList"] = {"UNDO"};
  const std::vector<std::string> timers = timers_in(api_.call(look, cancel));
  if (timers.empty()) return;
  api_.call({.region = region,
             .action = "DeleteInstancesActionTimer",
             .body = {{"ActionTimerIds", timers}},
             .doing = "removing " + counted(timers.size(), "timer") + " in " + region},
            cancel);
}

void TencentCloud::tag(const std::string& region, std::span<const std::string> ids,
                       const cloud::Tags& tags, const Cancel& cancel) {
  constexpr std::size_t kMost = 10;
  const JsonAnswer who = api_.call(
      {.service = "sts", .action = "GetCallerIdentity", .doing = "identifying the account"},
      cancel);
  const std::string start =
      "qcs::cvm:" + region + ":uin/" + Answer(who)["AccountId"].text() + ":instance/";
  json list = json::array();
  for (const auto& [key, value] : cloud::pairs_of(tags))
    list.push_back({{"TagKey", key}, {"TagValue", value}});
  const auto order = [&](std::span<const std::string> some) {
    json resources = json::array();
    for (const std::string& id : some)
      resources.push_back(start + id);
    const TencentCall call{.service = "tag",
                           .action = "TagResources",
                           .body = {{"ResourceList", std::move(resources)}, {"Tags", list}},
                           .doing = "marking " + counted(some.size(), "machine") + " in " + region};
    const JsonAnswer answer = api_.call(call, cancel);
    for (const Answer& failed : Answer(answer)["FailedResources"].items())
      throw Error(ErrorKind::remote, "tencent: " + call.doing + ": " + failed["Resource"].text() +
                                         ": " + failed["Code"].text() + ": " +
                                         failed["Message"].text());
  };
  for (const auto& some : cloud::chunks(ids, kMost))
    cloud::order_known(some, order, wait_, cancel);
}

std::unique_ptr<cloud::Cloud> make_cloud(const cloud::CloudSetup& setup) {
  return std::make_unique<TencentCloud>(
      setup.tools(credentials::find_tencent),
      cloud::CloudEndpoint::in_variables(kInfo.endpoint_variable, setup.url_in));
}

}  // namespace fastgpu::provision::tencent
