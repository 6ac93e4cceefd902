#include "provision/providers/aws/aws_cloud.hpp"

#include <algorithm>
#include <array>

#include "base/counted.hpp"
#include "provision/cloud/batches.hpp"
#include "provision/providers/aws/machines.hpp"

namespace fastgpu::provision::aws {
namespace {

using namespace std::chrono_literals;
using cloud::Machine;

/// Every state but "terminated", which stays listed for an hour.
constexpr std::array kListedStates = {"pending", "running", "shutting-down", "stopping", "stopped"};

Ec2Call about(const std::string& region, const std::string& action,
              std::span<const std::string> ids, const std::string& doing) {
  Ec2Call call{.region = region,
               .action = action,
               .doing = doing + " " + counted(ids.size(), "machine") + " in " + region};
  add_list(call.parameters, "InstanceId", ids);
  return call;
}

/// The ids that a refusal names: "The instance IDs 'i-1, i-2' do not exist".
std::vector<std::string> without_named(std::span<const std::string> ids,
                                       const std::string& message) {
  std::vector<std::string> rest;
  for (const std::string& id : ids)
    if (message.find(id) == std::string::npos) rest.push_back(id);
  return rest;
}

}  // namespace

bool AwsCloud::has_credentials() {
  return ec2_.caller().has_credentials();
}

std::string AwsCloud::account(const Cancel& cancel) {
  const auto document = ec2_.sts("GetCallerIdentity", cancel);
  const pugi::xml_node result = document->document_element().child("GetCallerIdentityResult");
  return result.child_value("Arn");
}

std::vector<std::string> AwsCloud::regions(const Cancel& cancel) {
  const auto document = ec2_.call(
      {.region = "us-east-1", .action = "DescribeRegions", .doing = "listing regions"}, cancel);
  std::vector<std::string> names;
  for (const pugi::xml_node& region : items(document->document_element(), "regionInfo"))
    names.emplace_back(region.child_value("regionName"));
  return names;
}

std::vector<Machine> AwsCloud::launch(const cloud::Launch& launch, const Cancel& cancel) {
  const auto document = ec2_.call({.region = launch.site.region,
                                   .action = "RunInstances",
                                   .parameters = launch_parameters(launch),
                                   .doing = "launching " + std::to_string(launch.count) + " " +
                                            launch.type + " in " + launch.site.zone},
                                  cancel);
  return machines_in(document->document_element(), launch.site.region);
}

std::optional<cloud::Failure> AwsCloud::try_launch(const cloud::Trial& trial,
                                                   const Cancel& cancel) {
  const std::string count = std::to_string(trial.count);
  return ec2_.try_call({.region = trial.site.region,
                        .action = "RunInstances",
                        .parameters = {{"ImageId", trial.image},
                                       {"InstanceType", trial.type},
                                       {"MinCount", count},
                                       {"MaxCount", count},
                                       {"Placement.AvailabilityZone", trial.site.zone},
                                       {"DryRun", "true"}},
                        .doing = {}},
                       cancel);
}

std::vector<Machine> AwsCloud::machines(const std::string& region, const state::ClusterId& cluster,
                                        const Cancel& cancel) {
  Ec2Call call{.region = region,
               .action = "DescribeInstances",
               .parameters = {{"MaxResults", "1000"}},
               .doing = "listing machines in " + region};
  if (cluster.value.empty())
    add_filter(call.parameters, 1, "tag-key", {std::string(cloud::kClusterTag)});
  else
    add_filter(call.parameters, 1, "tag:" + std::string(cloud::kClusterTag), {cluster.value});
  add_filter(call.parameters, 2, "instance-state-name",
             {kListedStates.begin(), kListedStates.end()});
  std::vector<Machine> found;
  ec2_.pages(
      call,
      [&](const pugi::xml_node& root) {
        std::ranges::move(machines_in(root, region), std::back_inserter(found));
      },
      cancel);
  return found;
}

void AwsCloud::start(const std::string& region, std::span<const std::string> ids,
                     const Cancel& cancel) {
  ec2_.call(about(region, "StartInstances", ids, "starting"), cancel);
}

void AwsCloud::stop(const std::string& region, std::span<const std::string> ids,
                    const Cancel& cancel) {
  ec2_.call(about(region, "StopInstances", ids, "stopping"), cancel);
}

void AwsCloud::terminate(const std::string& region, std::span<const std::string> ids) {
  // An instance may be unknown for some seconds after its launch: only who is unknown for longer
  // is gone.
  constexpr int kLooks = 4;
  std::vector<std::string> left(ids.begin(), ids.end());
  for (int look = 1; !left.empty(); ++look) {
    const Ec2Call call = about(region, "TerminateInstances", left, "ending");
    const auto failure = ec2_.try_call(call, never_);
    if (!failure) return;
    if (failure->kind != cloud::FailureKind::not_found)
      throw cloud::error_of(*failure, "aws: " + call.doing);
    if (look < kLooks) {
      wait_(2s * look, never_);
      continue;
    }
    auto rest = without_named(left, failure->message);
    if (rest.size() == left.size()) throw cloud::error_of(*failure, "aws: " + call.doing);
    left = std::move(rest);
  }
}

void AwsCloud::release_at(const std::string& region, std::span<const std::string> ids,
                          std::optional<std::chrono::system_clock::time_point> when,
                          const Cancel& cancel) {
  for (const std::string& id : ids)
    ec2_.call(
        {.region = region,
         .action = "ModifyInstanceAttribute",
         .parameters = {{"InstanceId", id},
                        {"InstanceInitiatedShutdownBehavior.Value", when ? "terminate" : "stop"}},
         .doing = "saying what " + id + " comes to once it powers itself off"},
        cancel);
}

void AwsCloud::tag(const std::string& region, std::span<const std::string> ids,
                   const cloud::Tags& tags, const Cancel& cancel) {
  constexpr std::size_t kMost = 500;
  for (const auto& some : cloud::chunks(ids, kMost)) {
    Ec2Call call{.region = region,
                 .action = "CreateTags",
                 .doing = "marking " + counted(some.size(), "machine") + " in " + region};
    add_list(call.parameters, "ResourceId", some);
    int n = 0;
    for (const auto& [key, value] : cloud::pairs_of(tags)) {
      const std::string name = "Tag." + std::to_string(++n);
      call.parameters.emplace_back(name + ".Key", key);
      call.parameters.emplace_back(name + ".Value", value);
    }
    ec2_.call(call, cancel);
  }
}

}  // namespace fastgpu::provision::aws
