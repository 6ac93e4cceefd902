#include "provision/providers/alibaba/alibaba_cloud.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "provision/cloud/accepted_machines.hpp"
#include "provision/cloud/batches.hpp"
#include "provision/cloud/in_parts.hpp"
#include "provision/providers/alibaba/machines.hpp"

namespace fastgpu::provision::alibaba {
namespace {

using cloud::Machine;
using cloud::MachineState;

// For questions with the same answer in all regions.
constexpr const char* kAnyRegion = "cn-hangzhou";

AlibabaCall about(const std::string& region, const std::string& action,
                  std::span<const std::string> ids, const std::string& doing) {
  AlibabaCall call{.region = region,
                   .action = action,
                   .doing = doing + " " + counted(ids.size(), "machine") + " in " + region};
  cloud::add_list(call.parameters, "InstanceId", ids);
  return call;
}

}  // namespace

bool AlibabaCloud::has_credentials() {
  return api_.caller().has_credentials();
}

std::string AlibabaCloud::account(const Cancel& cancel) {
  const auto answer = api_.call({.service = "sts",
                                 .region = kAnyRegion,
                                 .action = "GetCallerIdentity",
                                 .doing = "identifying the account"},
                                cancel);
  return Answer(answer)["Arn"].text();
}

std::vector<std::string> AlibabaCloud::regions(const Cancel& cancel) {
  const auto answer = api_.call(
      {.region = kAnyRegion, .action = "DescribeRegions", .doing = "listing regions"}, cancel);
  std::vector<std::string> names;
  for (const Answer& region : Answer(answer)["Regions"]["Region"].items())
    if (!region["RegionId"].text().empty()) names.push_back(region["RegionId"].text());
  return names;
}

std::vector<Machine> AlibabaCloud::described(const std::string& region,
                                             std::span<const std::string> ids,
                                             const Cancel& cancel) {
  std::vector<Machine> found;
  if (ids.empty()) return found;
  const auto look = [&](std::span<const std::string> some) {
    const nlohmann::json list(std::vector<std::string>(some.begin(), some.end()));
    api_.pages(
        {.region = region,
         .action = "DescribeInstances",
         .parameters = {{"InstanceIds", list.dump()}, {"MaxResults", "100"}},
         .doing = "looking at machines in " + region},
        [&](const Answer& page) {
          std::ranges::move(machines_in(page, region), std::back_inserter(found));
        },
        cancel);
  };
  cloud::throw_refused(cloud::order_in_parts(ids, look));
  return found;
}

/// Launches machines. The answer has only their ids.
std::vector<Machine> AlibabaCloud::launch(const cloud::Launch& launch, const Cancel& cancel) {
  const std::string doing =
      "launching " + std::to_string(launch.count) + " " + launch.type + " in " + launch.site.zone;
  const auto answer =
      api_.call({.region = launch.site.region,
                 .action = "RunInstances",
                 .parameters = launch_parameters(launch, std::chrono::system_clock::now()),
                 .doing = doing},
                cancel);
  return cloud::accepted_machines("alibaba", launch, launched_in(Answer(answer)));
}

/// Tries the launch in any existing network of the zone, because the request must name one.
std::optional<cloud::Failure> AlibabaCloud::try_launch(const cloud::Trial& trial,
                                                       const Cancel& cancel) {
  const auto listed = [&](const char* service, const char* action, Parameters which) {
    return api_.call({.service = service,
                      .region = trial.site.region,
                      .action = action,
                      .parameters = std::move(which),
                      .doing = "looking for a network in " + trial.site.zone},
                     cancel);
  };
  const auto switches = listed("vpc", "DescribeVSwitches", {{"ZoneId", trial.site.zone}});
  const auto vswitch = Answer(switches)["VSwitches"]["VSwitch"].items();
  if (vswitch.empty()) return cloud::Failure{.message = "no network"};
  const auto groups =
      listed("ecs", "DescribeSecurityGroups", {{"VpcId", vswitch.front()["VpcId"].text()}});
  const auto group = Answer(groups)["SecurityGroups"]["SecurityGroup"].items();
  if (group.empty()) return cloud::Failure{.message = "no network"};
  return api_.try_call({.region = trial.site.region,
                        .action = "RunInstances",
                        .parameters = {{"ZoneId", trial.site.zone},
                                       {"ImageId", trial.image},
                                       {"InstanceType", trial.type},
                                       {"Amount", std::to_string(trial.count)},
                                       {"VSwitchId", vswitch.front()["VSwitchId"].text()},
                                       {"SecurityGroupId", group.front()["SecurityGroupId"].text()},
                                       {"DryRun", "true"}},
                        .doing = {}},
                       cancel);
}

std::vector<Machine> AlibabaCloud::machines(const std::string& region,
                                            const state::ClusterId& cluster, const Cancel& cancel) {
  AlibabaCall call{.region = region,
                   .action = "DescribeInstances",
                   .parameters = {{"MaxResults", "100"}},
                   .doing = "listing machines in " + region};
  add_tag_filter(call.parameters, cluster);
  std::vector<Machine> found;
  api_.pages(
      call,
      [&](const Answer& page) {
        std::ranges::move(machines_in(page, region), std::back_inserter(found));
      },
      cancel);
  return found;
}

/// An order about machines, and the states in which a machine needs it.
struct AlibabaCloud::Change {
  std::string action;
  std::string doing;
  Parameters parameters;
  bool (*is_due)(MachineState state);
  bool is_start = false;
};

/// Gives the order only to machines that still need it. The cloud refuses it for all if one machine
/// is changing already, and the answer to an earlier attempt may have been lost.
void AlibabaCloud::change(const std::string& region, std::span<const std::string> ids,
                          const Change& change, const Cancel& cancel) {
  const auto order = [&](std::span<const std::string> some) {
    AlibabaCall call = about(region, change.action, some, change.doing);
    call.is_start = change.is_start;
    call.parameters.insert(call.parameters.end(), change.parameters.begin(),
                           change.parameters.end());
    api_.call(call, cancel);
  };
  const auto has_changed = [](const cloud::RefusedId& one) {
    return one.error.kind() == ErrorKind::conflict;
  };
  const auto due = [&] {
    std::vector<Machine> machines = described(region, ids, cancel);
    std::erase_if(machines, [&](const Machine& machine) { return !change.is_due(machine.state); });
    return machines;
  };
  cloud::order_due(due, order, has_changed);
}

void AlibabaCloud::start(const std::string& region, std::span<const std::string> ids,
                         const Cancel& cancel) {
  change(region, ids,
         {.action = "StartInstances",
          .doing = "starting",
          .parameters = {},
          .is_due = [](MachineState state) { return state == MachineState::stopped; },
          .is_start = true},
         cancel);
}

void AlibabaCloud::stop(const std::string& region, std::span<const std::string> ids,
                        const Cancel& cancel) {
  change(region, ids,
         {.action = "StopInstances",
          .doing = "stopping",
          .parameters = {{"StoppedMode", "StopCharging"}},
          .is_due =
              [](MachineState state) {
                return state == MachineState::running || state == MachineState::pending;
              }},
         cancel);
}

void AlibabaCloud::terminate(const std::string& region, std::span<const std::string> ids) {
  const auto order = [&](std::span<const std::string> some) {
    AlibabaCall call = about(region, "DeleteInstances", some, "ending");
    call.parameters.emplace_back("Force", "true");
    api_.call(call, never_);
  };
  cloud::order_known(ids, order, wait_, never_);
}

void AlibabaCloud::release_at(const std::string& region, std::span<const std::string> ids,
                              std::optional<std::chrono::system_clock::time_point> when,
                              const Cancel& cancel) {
  // An empty time removes the timer.
  const std::string time = when ? release_time(*when, std::chrono::system_clock::now()) : "";
  const auto set_one = [&](const std::string& id) {
    api_.call({.region = region,
               .action = "ModifyInstanceAutoReleaseTime",
               .parameters = {{"InstanceId", id}, {"AutoReleaseTime", time}},
               .doing = "setting the timer of " + id},
              cancel);
  };
  cloud::order_each(ids, set_one, wait_, cancel);
}

cloud::TimePoint AlibabaCloud::timer_at(cloud::TimePoint wished, cloud::TimePoint now) const {
  return alibaba::release_at(wished, now);
}

void AlibabaCloud::tag(const std::string& region, std::span<const std::string> ids,
                       const cloud::Tags& tags, const Cancel& cancel) {
  constexpr std::size_t kMost = 50;
  const auto order = [&](std::span<const std::string> some) {
    AlibabaCall call{.region = region,
                     .action = "TagResources",
                     .parameters = {{"ResourceType", "instance"}},
                     .doing = "marking " + counted(some.size(), "machine") + " in " + region};
    cloud::add_list(call.parameters, "ResourceId", some);
    int n = 0;
    for (const auto& [key, value] : cloud::pairs_of(tags)) {
      const std::string name = "Tag." + std::to_string(++n);
      call.parameters.emplace_back(name + ".Key", key);
      call.parameters.emplace_back(name + ".Value", value);
    }
    api_.call(call, cancel);
  };
  for (const auto& some : cloud::chunks(ids, kMost))
    cloud::order_known(some, order, wait_, cancel);
}

std::unique_ptr<cloud::Cloud> make_cloud(const cloud::CloudSetup& setup) {
  return std::make_unique<AlibabaCloud>(
      setup.tools(credentials::find_alibaba),
      cloud::CloudEndpoint::in_variables(kInfo.endpoint_variable, setup.url_in));
}

}  // namespace fastgpu::provision::alibaba
