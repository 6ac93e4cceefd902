#include "provision/providers/aws/aws_cloud.hpp"

#include <algorithm>
#include <array>

#include "base/counted.hpp"
#include "provision/cloud/batches.hpp"
#include "provision/cloud/in_parts.hpp"
#include "provision/providers/aws/machines.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::Machine;

/// All states except "terminated", in which a machine stays listed for an hour.
constexpr std::array kListedStates = {"pending", "running", "shutting-down", "stopping", "stopped"};
constexpr const char* kEndedState = "terminated";

Ec2Call about(const std::string& region, const std::string& action,
              std::span<const std::string> ids, const std::string& doing) {
  Ec2Call call{.region = region,
               .action = action,
               .doing = doing + " " + counted(ids.size(), "machine") + " in " + region};
  add_list(call.parameters, "InstanceId", ids);
  return call;
}

/// Throws ErrorKind::usage if a machine would lack the fabric adapter that was requested.
void check_adapter(const cloud::Launch& launch) {
  const bool has_first = launch.rdma_cards.empty() || launch.rdma_cards.front() == 0;
  if (launch.rdma && launch.has_public_address && !has_first)
    throw Error(ErrorKind::usage,
                "aws: " + launch.type +
                    " has its fabric adapters on other network cards than the first, and a machine "
                    "with a public address gets an interface on the first alone: write "
                    "--public-address none, or leave --rdma out");
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
  const std::string home(ec2_.partition().home);
  const auto document =
      ec2_.call({.region = home, .action = "DescribeRegions", .doing = "listing regions"}, cancel);
  std::vector<std::string> names;
  for (const pugi::xml_node& region : items(document->document_element(), "regionInfo"))
    names.emplace_back(region.child_value("regionName"));
  return names;
}

std::vector<std::string> AwsCloud::usual_regions() {
  const auto& usual = ec2_.partition().usual;
  if (usual.empty()) return Cloud::usual_regions();
  return {usual.begin(), usual.end()};
}

std::optional<AwsCloud::Reservation> AwsCloud::reservation(const std::string& region,
                                                           const std::string& id,
                                                           const Cancel& cancel) {
  Ec2::Document document;
  try {
    document = ec2_.call({.region = region,
                          .action = "DescribeCapacityReservations",
                          .parameters = {{"CapacityReservationId.1", id}},
                          .doing = "looking for reservation " + id + " in " + region},
                         cancel);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::not_found) throw;
    return std::nullopt;
  }
  for (const pugi::xml_node& item : items(document->document_element(), "capacityReservationSet"))
    if (item.child_value("capacityReservationId") == id)
      return Reservation{
          .type = item.child_value("instanceType"),
          .zone = item.child_value("availabilityZone"),
          .available = item.child("availableInstanceCount").text().as_int(),
          .is_block = item.child_value("reservationType") == std::string_view("capacity-block")};
  return std::nullopt;
}

std::vector<Machine> AwsCloud::launch(const cloud::Launch& launch, const Cancel& cancel) {
  check_adapter(launch);
  bool is_block = false;
  if (!launch.reservation.empty())
    if (const auto found = reservation(launch.site.region, launch.reservation, cancel))
      is_block = found->is_block;
  const auto document = ec2_.call({.region = launch.site.region,
                                   .action = "RunInstances",
                                   .parameters = launch_parameters(launch, is_block),
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
  return machines_in_states(region, cluster, {kListedStates.begin(), kListedStates.end()}, cancel);
}

std::vector<Machine> AwsCloud::machines_and_ended(const std::string& region,
                                                  const state::ClusterId& cluster,
                                                  const Cancel& cancel) {
  std::vector<std::string> states(kListedStates.begin(), kListedStates.end());
  states.emplace_back(kEndedState);
  return machines_in_states(region, cluster, states, cancel);
}

std::vector<Machine> AwsCloud::machines_in_states(const std::string& region,
                                                  const state::ClusterId& cluster,
                                                  const std::vector<std::string>& states,
                                                  const Cancel& cancel) {
  Ec2Call call{.region = region,
               .action = "DescribeInstances",
               .parameters = {{"MaxResults", "1000"}},
               .doing = "listing machines in " + region};
  if (cluster.value.empty())
    add_filter(call.parameters, 1, "tag-key", {std::string(cloud::kClusterTag)});
  else
    add_filter(call.parameters, 1, "tag:" + std::string(cloud::kClusterTag), {cluster.value});
  add_filter(call.parameters, 2, "instance-state-name", states);
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
  cloud::throw_refused(cloud::order_in_parts(ids, [&](std::span<const std::string> some) {
    Ec2Call call = about(region, "StartInstances", some, "starting");
    call.is_start = true;
    ec2_.call(call, cancel);
  }));
}

void AwsCloud::stop(const std::string& region, std::span<const std::string> ids,
                    const Cancel& cancel) {
  cloud::throw_refused(cloud::order_in_parts(ids, [&](std::span<const std::string> some) {
    ec2_.call(about(region, "StopInstances", some, "stopping"), cancel);
  }));
}

void AwsCloud::terminate(const std::string& region, std::span<const std::string> ids) {
  const auto order = [&](std::span<const std::string> some) {
    ec2_.call(about(region, "TerminateInstances", some, "ending"), never_);
  };
  cloud::order_known(ids, order, wait_, never_);
}

void AwsCloud::release_at(const std::string& region, std::span<const std::string> ids,
                          std::optional<std::chrono::system_clock::time_point> when,
                          const Cancel& cancel) {
  const auto set_one = [&](const std::string& id) {
    ec2_.call(
        {.region = region,
         .action = "ModifyInstanceAttribute",
         .parameters = {{"InstanceId", id},
                        {"InstanceInitiatedShutdownBehavior.Value", when ? "terminate" : "stop"}},
         .doing = "setting the shutdown behavior of " + id},
        cancel);
  };
  cloud::order_each(ids, set_one, wait_, cancel);
}

/// Changes tags, and also the name that the console shows, which is the cluster's name.
void AwsCloud::tag(const std::string& region, std::span<const std::string> ids,
                   const cloud::Tags& tags, const Cancel& cancel) {
  constexpr std::size_t kMost = 500;
  auto pairs = cloud::pairs_of(tags);
  if (!tags.cluster_name.empty()) pairs.emplace_back("Name", tags.cluster_name);
  const auto order = [&](std::span<const std::string> some) {
    Ec2Call call{.region = region,
                 .action = "CreateTags",
                 .doing = "marking " + counted(some.size(), "machine") + " in " + region};
    add_list(call.parameters, "ResourceId", some);
    int n = 0;
    for (const auto& [key, value] : pairs) {
      const std::string name = "Tag." + std::to_string(++n);
      call.parameters.emplace_back(name + ".Key", key);
      call.parameters.emplace_back(name + ".Value", value);
    }
    ec2_.call(call, cancel);
  };
  for (const auto& some : cloud::chunks(ids, kMost))
    cloud::order_known(some, order, wait_, cancel);
}

std::unique_ptr<cloud::Cloud> make_cloud(const cloud::CloudSetup& setup) {
  return std::make_unique<AwsCloud>(
      setup.tools(credentials::find_aws),
      Endpoints{.all = setup.url_in("AWS_ENDPOINT_URL"),
                .ec2 = setup.url_in("AWS_ENDPOINT_URL_EC2"),
                .others = {{"sts", setup.url_in("AWS_ENDPOINT_URL_STS")},
                           {"pricing", setup.url_in("AWS_ENDPOINT_URL_PRICING")},
                           {"servicequotas", setup.url_in("AWS_ENDPOINT_URL_SERVICE_QUOTAS")}}});
}

}  // namespace fastgpu::provision::aws
