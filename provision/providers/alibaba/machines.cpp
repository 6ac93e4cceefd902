#include "provision/providers/alibaba/machines.hpp"

#include <algorithm>
#include <cstdio>

#include "base/base64.hpp"
#include "base/numbers.hpp"
#include "base/time_text.hpp"
#include "provision/cloud/cloud.hpp"
#include "provision/providers/alibaba/hpc.hpp"
#include "provision/signing/hmac.hpp"

namespace fastgpu::provision::alibaba {
namespace {

using namespace std::chrono_literals;
using cloud::Machine;
using cloud::MachineState;
using std::chrono::system_clock;

constexpr int kIndexDigits = 6;
constexpr auto kShortestTimer = 31min;  // The cloud requires half an hour, by its own clock.

std::string tag_in(const Answer& thing, std::string_view key) {
  for (const Answer& tag : thing["Tags"]["Tag"].items()) {
    if (tag["TagKey"].text() == key) return tag["TagValue"].text();
    if (tag["Key"].text() == key) return tag["Value"].text();
  }
  return {};
}

/// Returns the state. A spot instance that is being reclaimed ends once it does not run any more.
/// An unknown word counts as an existing machine.
MachineState state_of(const Answer& instance) {
  const std::string status = instance["Status"].text();
  if (status == "Running") return MachineState::running;
  for (const Answer& lock : instance["OperationLocks"]["LockReason"].items())
    if (lock["LockReason"].text() == "Recycling") return MachineState::ending;
  if (status == "Stopping") return MachineState::stopping;
  if (status == "Stopped") return MachineState::stopped;
  return MachineState::pending;
}

/// Returns 3 for "demo-000003", the instance of node 3 of a cluster launched as demo; -1 for any
/// other name.
int index_of(const Answer& instance, const std::string& cluster) {
  const std::string name = instance["InstanceName"].text();
  const std::string start = cluster + "-";
  if (cluster.empty() || !name.starts_with(start)) return -1;
  const std::string_view digits = std::string_view(name).substr(start.size());
  const int index = to_number<int>(digits).value_or(-1);
  return digits.size() == kIndexDigits && index >= 0 ? index : -1;
}

std::string first_of(const std::vector<Answer>& items) {
  return items.empty() ? "" : items.front().text();
}

std::string address_of(const Answer& instance) {
  const std::string own = first_of(instance["PublicIpAddress"]["IpAddress"].items());
  return own.empty() ? instance["EipAddress"]["IpAddress"].text() : own;
}

Machine machine_of(const Answer& instance, const std::string& region) {
  const cloud::OwnerTags marks = marks_in(instance);
  const std::string launched_as = tag_in(instance, cloud::kLaunchedTag);
  const std::string id = cloud::machine_id_told("alibaba", instance["InstanceId"].text());
  const std::string inside =
      first_of(instance["VpcAttributes"]["PrivateIpAddress"]["IpAddress"].items());
  return {.id = id,
          .index = index_of(instance, launched_as.empty() ? marks.cluster_name : launched_as),
          .state = state_of(instance),
          .address = cloud::MachineAddress::told("alibaba", id, address_of(instance)),
          .private_address = cloud::MachineAddress::told("alibaba", id, inside),
          .site = {region, instance["ZoneId"].text()},
          .type = instance["InstanceType"].text(),
          .launched = instance["CreationTime"].text(),
          .marks = marks,
          .vpc = instance["VpcAttributes"]["VpcId"].text(),
          .host_key = tag_in(instance, cloud::kHostKeyTag),
          .taken = tag_in(instance, cloud::kTakenTag),
          .launched_as = launched_as};
}

void add_network(Parameters& parameters, const cloud::Launch& launch) {
  const auto part = [&](const char* kind) {
    const auto found = launch.network.find(kind);
    return found == launch.network.end() ? "" : found->second;
  };
  // Elastic RDMA is a mode of the primary interface; the SCC types have a network of their own.
  const bool is_rdma = launch.rdma && !needs_hpc_cluster(launch.type);
  const std::string prefix = is_rdma ? "NetworkInterface.1." : "";
  parameters.emplace_back(prefix + "VSwitchId", part("vswitch"));
  parameters.emplace_back(prefix + "SecurityGroupId", part("security-group"));
  if (is_rdma) {
    parameters.emplace_back(prefix + "InstanceType", "Primary");
    parameters.emplace_back(prefix + "NetworkInterfaceTrafficMode", "HighPerformance");
  }
  if (needs_hpc_cluster(launch.type)) parameters.emplace_back("HpcClusterId", part("hpc-cluster"));
  if (const std::string set = part("deployment-set"); !set.empty())
    parameters.emplace_back("DeploymentSetId", set);
  parameters.emplace_back("InternetChargeType", "PayByTraffic");
  // A machine without bandwidth gets no public address.
  parameters.emplace_back("InternetMaxBandwidthOut", launch.has_public_address ? "100" : "0");
}

void add_market(Parameters& parameters, const cloud::Launch& launch) {
  parameters.emplace_back("InstanceChargeType", "PostPaid");
  if (launch.market != cloud::Market::spot) return;
  parameters.emplace_back("SpotStrategy",
                          launch.max_price ? "SpotWithPriceLimit" : "SpotAsPriceGo");
  parameters.emplace_back("SpotInterruptionBehavior", "Terminate");
  if (!launch.max_price) return;
  char price[32];
  std::snprintf(price, sizeof price, "%.3f", launch.max_price->amount);
  parameters.emplace_back("SpotPriceLimit", price);
}

void add_tag(Parameters& parameters, int n, std::string_view key, const std::string& value) {
  const std::string tag = "Tag." + std::to_string(n);
  parameters.emplace_back(tag + ".Key", key);
  parameters.emplace_back(tag + ".Value", value);
}

}  // namespace

void add_tags(Parameters& parameters, const cloud::OwnerTags& marks) {
  add_tag(parameters, 1, cloud::kClusterTag, marks.cluster.value);
  add_tag(parameters, 2, cloud::kNameTag, marks.cluster_name);
  add_tag(parameters, 3, cloud::kOwnerTag, marks.owner);
}

void add_tag_filter(Parameters& parameters, const state::ClusterId& cluster) {
  parameters.emplace_back("Tag.1.Key", cloud::kClusterTag);
  if (!cluster.value.empty()) parameters.emplace_back("Tag.1.Value", cluster.value);
}

cloud::OwnerTags marks_in(const Answer& thing) {
  return {.cluster = {tag_in(thing, cloud::kClusterTag)},
          .cluster_name = tag_in(thing, cloud::kNameTag),
          .owner = tag_in(thing, cloud::kOwnerTag)};
}

system_clock::time_point release_at(system_clock::time_point wished, system_clock::time_point now) {
  return std::chrono::ceil<std::chrono::minutes>(std::max(wished, now + kShortestTimer));
}

std::string release_time(system_clock::time_point wished, system_clock::time_point now) {
  return utc_text(release_at(wished, now), "%Y-%m-%dT%H:%M:00Z");
}

void add_data_disk(Parameters& parameters, const DataDisk& disk) {
  parameters.emplace_back("DataDisk.1.Category", disk.type.empty() ? kDiskType : disk.type);
  parameters.emplace_back("DataDisk.1.Size", std::to_string(disk.gib));
}

Parameters launch_parameters(const cloud::Launch& launch, system_clock::time_point now) {
  const std::string sequence =
      "[" + std::to_string(launch.first) + "," + std::to_string(kIndexDigits) + "]";
  Parameters parameters = {{"ZoneId", launch.site.zone},
                           {"ImageId", launch.image},
                           {"InstanceType", launch.type},
                           {"Amount", std::to_string(launch.count)},
                           {"MinAmount", std::to_string(launch.least)},
                           {"InstanceName", launch.marks.cluster_name + "-" + sequence},
                           {"ClientToken", launch.token},
                           {"UserData", base64_encode(launch.user_data.reveal())},
                           {"HttpEndpoint", "enabled"},
                           {"HttpTokens", "required"},
                           {"SystemDisk.Category", kDiskType}};
  if (launch.disk_gib > 0)
    parameters.emplace_back("SystemDisk.Size", std::to_string(launch.disk_gib));
  if (launch.data_disk.gib > 0) {
    add_data_disk(parameters, launch.data_disk);
    parameters.emplace_back("DataDisk.1.DeleteWithInstance", "true");
  }
  if (!launch.reservation.empty()) {
    parameters.emplace_back("PrivatePoolOptions.MatchCriteria", "Target");
    parameters.emplace_back("PrivatePoolOptions.Id", launch.reservation);
  }
  add_network(parameters, launch);
  add_market(parameters, launch);
  if (launch.release_at)
    parameters.emplace_back("AutoReleaseTime", release_time(*launch.release_at, now));
  add_tags(parameters, launch.marks);
  add_tag(parameters, 4, cloud::kFirstTag, std::to_string(launch.first));
  return parameters;
}

std::vector<Machine> machines_in(const Answer& answer, const std::string& region) {
  std::vector<Machine> machines;
  for (const Answer& instance : answer["Instances"]["Instance"].items())
    if (!instance["InstanceId"].text().empty()) machines.push_back(machine_of(instance, region));
  return machines;
}

std::vector<std::string> launched_in(const Answer& answer) {
  std::vector<std::string> ids;
  for (const Answer& id : answer["InstanceIdSets"]["InstanceIdSet"].items())
    if (!id.text().empty()) ids.push_back(id.text());
  return ids;
}

}  // namespace fastgpu::provision::alibaba
