#include "provision/providers/tencent/machines.hpp"

#include <algorithm>
#include <array>

#include "base/base64.hpp"
#include "base/host_names.hpp"
#include "base/numbers.hpp"
#include "base/time_text.hpp"
#include "provision/cloud/cloud.hpp"
#include "provision/cloud/state_words.hpp"
#include "provision/signing/hmac.hpp"

namespace fastgpu::provision::tencent {
namespace {

using namespace std::chrono_literals;
using cloud::Machine;
using cloud::MachineState;
using cloud::StateWord;
using std::chrono::system_clock;

constexpr auto kShortestTimer = 6min;  // The cloud requires five minutes, by its own clock.
constexpr const char* kDataDiskType = "CLOUD_BSSD";
constexpr int kMostMegabits = 100;  // The outgoing rate in Mbit a second; only traffic costs money.

std::string tag_in(const Answer& tags, std::string_view key) {
  for (const Answer& tag : tags.items())
    if (tag["Key"].text() == key) return tag["Value"].text();
  return {};
}

// An instance that awaits destruction (SHUTDOWN) is useless, and goes only if it is ended once
// more.
constexpr std::array kStates = {
    StateWord{"RUNNING", MachineState::running},
    StateWord{"ENTER_SERVICE_LIVE_MIGRATE", MachineState::running},
    StateWord{"SERVICE_LIVE_MIGRATE", MachineState::running},
    StateWord{"EXIT_SERVICE_LIVE_MIGRATE", MachineState::running},
    StateWord{"STOPPING", MachineState::stopping},
    StateWord{"STOPPED", MachineState::stopped},
    StateWord{"TERMINATING", MachineState::ending},
    StateWord{"LAUNCH_FAILED", MachineState::failed},
    StateWord{"SHUTDOWN", MachineState::failed},
};

std::string failure_of(const Answer& instance) {
  std::string said = instance["LatestOperationErrorMsg"].text();
  return said.empty() ? instance["InstanceState"].text() : said;
}

int whole_number(std::string_view digits) {
  return std::max(-1, to_number<int>(digits).value_or(-1));
}

/// Returns 3 for "demo-3", the instance of node 3 of a cluster launched as demo, from node 3 or an
/// earlier one; -1 for any other name.
int index_of(const Answer& instance, const std::string& cluster) {
  const std::string name = instance["InstanceName"].text();
  const std::string start = cluster + "-";
  const int first = whole_number(tag_in(instance["Tags"], cloud::kFirstTag));
  if (cluster.empty() || first < 0 || !name.starts_with(start)) return -1;
  const int index = whole_number(std::string_view(name).substr(start.size()));
  return index >= first ? index : -1;
}

std::string first_of(const std::vector<Answer>& items) {
  return items.empty() ? "" : items.front().text();
}

Machine machine_from(const Answer& instance, const std::string& region) {
  const cloud::OwnerTags marks = marks_in(instance["Tags"]);
  const std::string launched_as = tag_in(instance["Tags"], cloud::kLaunchedTag);
  const std::string id = cloud::machine_id_told("tencent", instance["InstanceId"].text());
  const auto address = [&](const char* kind) {
    return cloud::MachineAddress::told("tencent", id, first_of(instance[kind].items()));
  };
  Machine machine{
      .id = id,
      .index = index_of(instance, launched_as.empty() ? marks.cluster_name : launched_as),
      .state = cloud::state_by_word(kStates, instance["InstanceState"].text()),
      .address = address("PublicIpAddresses"),
      .private_address = address("PrivateIpAddresses"),
      .site = {region, instance["Placement"]["Zone"].text()},
      .type = instance["InstanceType"].text(),
      .launched = instance["CreatedTime"].text(),
      .marks = marks,
      .vpc = instance["VirtualPrivateCloud"]["VpcId"].text(),
      .host_key = tag_in(instance["Tags"], cloud::kHostKeyTag),
      .taken = tag_in(instance["Tags"], cloud::kTakenTag),
      .launched_as = launched_as};
  if (machine.state == MachineState::failed) machine.failure = failure_of(instance);
  return machine;
}

std::string part(const cloud::Launch& launch, const char* kind) {
  const auto found = launch.network.find(kind);
  return found == launch.network.end() ? "" : found->second;
}

void add_market(json& body, const cloud::Launch& launch) {
  const bool is_spot = launch.market == cloud::Market::spot;
  body["InstanceChargeType"] = is_spot ? "SPOTPAID" : "POSTPAID_BY_HOUR";
  if (!is_spot || !launch.max_price) return;
  body["InstanceMarketOptions"] = {
      {"MarketType", "spot"},
      {"SpotOptions",
       {{"MaxPrice", json(launch.max_price->amount).dump()}, {"SpotInstanceType", "one-time"}}}};
}

json internet_access(const cloud::Launch& launch) {
  if (!launch.has_public_address)
    return {{"InternetMaxBandwidthOut", 0}, {"PublicIpAssigned", false}};
  return {{"InternetChargeType", "TRAFFIC_POSTPAID_BY_HOUR"},
          {"InternetMaxBandwidthOut", kMostMegabits},
          {"PublicIpAssigned", true}};
}

json data_disk_of(const cloud::Launch& launch) {
  const DataDisk& disk = launch.data_disk;
  return {{"DiskSize", disk.gib},
          {"DiskType", disk.type.empty() ? kDataDiskType : disk.type},
          {"DeleteWithInstance", true}};
}

json tag(std::string_view key, const std::string& value) {
  return {{"Key", key}, {"Value", value}};
}

}  // namespace

bool is_hpc(std::string_view type) {
  return type.starts_with("HCC");
}

json tags_of(const cloud::OwnerTags& marks) {
  return json::array({tag(cloud::kClusterTag, marks.cluster.value),
                      tag(cloud::kNameTag, marks.cluster_name),
                      tag(cloud::kOwnerTag, marks.owner)});
}

cloud::OwnerTags marks_in(const Answer& tags) {
  return {.cluster = {tag_in(tags, cloud::kClusterTag)},
          .cluster_name = tag_in(tags, cloud::kNameTag),
          .owner = tag_in(tags, cloud::kOwnerTag)};
}

json marked(const state::ClusterId& cluster) {
  const std::string key(cloud::kClusterTag);
  return cluster.value.empty() ? filter("tag-key", {key}) : filter("tag:" + key, {cluster.value});
}

system_clock::time_point timer_time(system_clock::time_point wished, system_clock::time_point now) {
  return std::chrono::ceil<std::chrono::minutes>(std::max(wished, now + kShortestTimer));
}

json end_timer(system_clock::time_point wished, system_clock::time_point now) {
  const auto when = timer_time(wished, now);
  return {{"TimerAction", "TerminateInstances"},
          {"ActionTime", utc_text(when, "%Y-%m-%dT%H:%M:00Z")},
          {"Externals", {{"ReleaseAddress", true}}}};
}

/// Returns the body of a launch. It has no MinCount, which is only for accounts enabled for it: the
/// cloud launches all machines or none.
json launch_body(const cloud::Launch& launch, system_clock::time_point now) {
  const std::string number = "-{R:" + std::to_string(launch.first) + "}";
  json tags = tags_of(launch.marks);
  tags.push_back(tag(cloud::kFirstTag, std::to_string(launch.first)));
  json body = {{"Placement", {{"Zone", launch.site.zone}}},
               {"InstanceType", launch.type},
               {"ImageId", launch.image},
               {"InstanceCount", launch.count},
               {"InstanceName", launch.marks.cluster_name + number},
               {"HostName", host_form(launch.marks.cluster_name) + number},
               {"ClientToken", launch.token},
               {"UserData", base64_encode(launch.user_data.reveal())},
               {"VirtualPrivateCloud",
                {{"VpcId", part(launch, "vpc")}, {"SubnetId", part(launch, "subnet")}}},
               {"SecurityGroupIds", json::array({part(launch, "security-group")})},
               {"InternetAccessible", internet_access(launch)},
               {"TagSpecification", json::array({{{"ResourceType", "instance"}, {"Tags", tags}}})}};
  add_market(body, launch);
  if (launch.disk_gib > 0) body["SystemDisk"] = {{"DiskSize", launch.disk_gib}};
  if (launch.data_disk.gib > 0) body["DataDisks"] = json::array({data_disk_of(launch)});
  if (is_hpc(launch.type)) body["HpcClusterId"] = part(launch, "hpc-cluster");
  if (launch.release_at) body["ActionTimer"] = end_timer(*launch.release_at, now);
  return body;
}

std::vector<Machine> machines_in(std::span<const JsonAnswer> instances, const std::string& region) {
  std::vector<Machine> machines;
  for (const JsonAnswer& instance : instances)
    if (!instance["InstanceId"].text().empty()) machines.push_back(machine_from(instance, region));
  return machines;
}

std::vector<std::string> timers_in(const Answer& answer) {
  std::vector<std::string> ids;
  for (const Answer& timer : answer["ActionTimers"].items())
    if (!timer["ActionTimerId"].text().empty()) ids.push_back(timer["ActionTimerId"].text());
  return ids;
}

std::vector<std::string> launched_in(const Answer& answer) {
  std::vector<std::string> ids;
  for (const Answer& id : answer["InstanceIdSet"].items())
    if (!id.text().empty()) ids.push_back(id.text());
  return ids;
}

}  // namespace fastgpu::provision::tencent
