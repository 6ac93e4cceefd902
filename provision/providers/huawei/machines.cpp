#include "provision/providers/huawei/machines.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/base64.hpp"
#include "base/numbers.hpp"
#include "base/time_text.hpp"
#include "provision/cloud/cloud.hpp"
#include "provision/cloud/state_words.hpp"
#include "provision/providers/huawei/huawei_dialect.hpp"
#include "provision/signing/hmac.hpp"

namespace fastgpu::provision::huawei {
namespace {

using namespace std::chrono_literals;
using cloud::Answer;
using cloud::Launch;
using cloud::Machine;
using cloud::MachineState;
using cloud::StateWord;
using nlohmann::json;
using std::chrono::system_clock;

/// The end of a server's name. If several are launched, the cloud appends "-0001" and so on; such a
/// number is the cloud's only after this word.
constexpr std::string_view kNameEnd = "-node";

/// The type of an address of the cloud's own network.
constexpr const char* kAddressType = "5_bgp";
constexpr int kMbitOut = 100;

/// The shortest timer that the cloud accepts.
constexpr std::chrono::minutes kSoonest = 30min;

constexpr std::array kStates = {
    StateWord{"ACTIVE", MachineState::running},
    StateWord{"SHUTOFF", MachineState::stopped},
    StateWord{"ERROR", MachineState::failed},
    StateWord{"DELETED", MachineState::gone},
    StateWord{"SOFT_DELETED", MachineState::gone},
    StateWord{"SHELVED", MachineState::stopped},
    StateWord{"SHELVED_OFFLOADED", MachineState::stopped},
    StateWord{"MIGRATING", MachineState::running},
    StateWord{"RESIZE", MachineState::running},
    StateWord{"VERIFY_RESIZE", MachineState::running},
    StateWord{"REVERT_RESIZE", MachineState::running},
};

/// Returns true for an unknown id, which a list by ids has as an entry with nothing but the id and
/// a fault.
bool is_unknown(const Answer& server) {
  constexpr std::array kMembers = {"status", "name", "created", "OS-EXT-AZ:availability_zone"};
  return server["flavor"]["id"].text().empty() &&
         std::ranges::all_of(kMembers,
                             [&](const char* member) { return server[member].text().empty(); });
}

/// Returns the state. A server that stops, starts or ends keeps its status: the task under way
/// decides.
MachineState state_of(const Answer& server) {
  if (is_unknown(server)) return MachineState::gone;
  const std::string task = server["OS-EXT-STS:task_state"].text();
  if (task == "deleting" || task == "soft-deleting") return MachineState::ending;
  if (task == "powering-off") return MachineState::stopping;
  if (task == "powering-on" || task == "rebooting") return MachineState::pending;
  return cloud::state_by_word(kStates, server["status"].text());
}

/// Returns the value of a tag. Lists have tags as "key=value".
std::string tag_in(const Answer& server, std::string_view key) {
  for (const Answer& tag : server["tags"].items()) {
    const std::string text = tag.text();
    if (text.starts_with(key) && text.substr(key.size()).starts_with('='))
      return text.substr(key.size() + 1);
  }
  return {};
}

int number(std::string_view digits) {
  return to_number<int>(digits).value_or(-1);
}

/// Returns the server's number among those launched with it; -1 if the name is not ours.
int place_in(const std::string& name) {
  const auto at = name.rfind(kNameEnd);
  if (at == std::string::npos) return -1;
  const std::string rest = name.substr(at + kNameEnd.size());
  if (rest.empty()) return 0;
  const int nth = rest.front() == '-' ? number(std::string_view(rest).substr(1)) : -1;
  return nth > 0 && nth <= 10'000 ? nth - 1 : -1;
}

/// Returns the node's index. A name may have been changed in the console; the host name stays.
int index_of(const Answer& server) {
  const int first = number(tag_in(server, cloud::kFirstTag));
  int place = place_in(server["name"].text());
  if (place < 0) place = place_in(server["OS-EXT-SRV-ATTR:hostname"].text());
  return first < 0 || first > 1'000'000 || place < 0 ? -1 : first + place;
}

/// Returns the first IPv4 address of that kind ("fixed", "floating"), in any network.
std::string address_in(const Answer& server, std::string_view kind) {
  for (const auto& [name, network] : server["addresses"].members())
    for (const Answer& address : network.items())
      if (address["OS-EXT-IPS:type"].text() == kind && address["version"].text() != "6")
        return address["addr"].text();
  return {};
}

json market_of(const Launch& launch) {
  json extended = {{"chargingMode", "postPaid"}};
  if (launch.market != cloud::Market::spot) return extended;
  extended["marketType"] = "spot";
  extended["interruption_policy"] = "immediate";
  if (launch.max_price) {
    char price[32];
    std::snprintf(price, sizeof price, "%.4f", launch.max_price->amount);
    extended["spotPrice"] = price;
  }
  return extended;
}

json tags_of(const Launch& launch) {
  const std::pair<std::string_view, std::string> tags[] = {
      {cloud::kClusterTag, launch.marks.cluster.value},
      {cloud::kNameTag, launch.marks.cluster_name},
      {cloud::kOwnerTag, launch.marks.owner},
      {cloud::kFirstTag, std::to_string(launch.first)}};
  json list = json::array();
  for (const auto& [key, value] : tags)
    list.push_back({{"key", key}, {"value", value}});
  return list;
}

json public_address() {
  const json bandwidth = {{"size", kMbitOut}, {"sharetype", "PER"}, {"chargemode", "traffic"}};
  return {{"eip", {{"iptype", kAddressType}, {"bandwidth", bandwidth}}},
          {"delete_on_termination", true}};
}

}  // namespace

std::string disk_type(const DataDisk& disk) {
  return disk.type.empty() ? "GPSSD" : disk.type;  // Sold in every zone that has GPUs.
}

system_clock::time_point release_time(system_clock::time_point when, system_clock::time_point now) {
  // A launch that is repeated a little later must be the same launch: a time that is too near
  // becomes the next full half hour.
  if (when < now + kSoonest + 1min)
    when = std::chrono::ceil<std::chrono::duration<int, std::ratio<1800>>>(now + kSoonest + 1min);
  return std::chrono::floor<std::chrono::minutes>(when);
}

std::string release_text(system_clock::time_point when, system_clock::time_point now) {
  return utc_text(release_time(when, now), "%Y-%m-%dT%H:%M:00Z");
}

std::string client_token(const std::string& token, int generation) {
  std::string digits = token;
  if (generation > 0)
    digits = signing::sha256_hex(token + "\n" + std::to_string(generation)).substr(0, 32);
  for (const std::size_t place : {8U, 13U, 18U, 23U})
    if (place < digits.size()) digits.insert(place, "-");
  return digits;
}

json launch_body(const Launch& launch, system_clock::time_point now) {
  const auto part = [&](const char* kind) {
    const auto found = launch.network.find(kind);
    return found == launch.network.end() ? "" : found->second;
  };
  json server = {{"name", launch.marks.cluster_name + std::string(kNameEnd)},
                 {"imageRef", launch.image},
                 {"flavorRef", launch.type},
                 {"availability_zone", launch.site.zone},
                 {"vpcid", part("vpc")},
                 {"nics", json::array({json{{"subnet_id", part("subnet")}}})},
                 {"security_groups", json::array({json{{"id", part("security-group")}}})},
                 {"root_volume", {{"volumetype", disk_type({})}}},
                 {"user_data", base64_encode(launch.user_data.reveal())},
                 {"server_tags", tags_of(launch)},
                 {"extendparam", market_of(launch)},
                 {"count", launch.count}};
  if (launch.has_public_address) server["publicip"] = public_address();
  if (launch.disk_gib > 0) server["root_volume"]["size"] = launch.disk_gib;
  if (launch.data_disk.gib > 0)
    server["data_volumes"] = json::array({json{{"volumetype", disk_type(launch.data_disk)},
                                               {"size", launch.data_disk.gib},
                                               {"delete_on_termination", true}}});
  if (launch.release_at) server["auto_terminate_time"] = release_text(*launch.release_at, now);
  return {{"server", std::move(server)}};
}

json trial_body(const cloud::Trial& trial, const Answer& subnet) {
  json server = {{"name", "fastgpu-trial"},
                 {"imageRef", trial.image},
                 {"flavorRef", trial.type},
                 {"availability_zone", trial.site.zone},
                 {"vpcid", subnet["vpc_id"].text()},
                 {"nics", json::array({json{{"subnet_id", subnet["id"].text()}}})},
                 {"root_volume", {{"volumetype", disk_type({})}}},
                 {"count", trial.count}};
  return {{"dry_run", true}, {"server", std::move(server)}};
}

Machine machine_of(const Answer& answer, const std::string& region) {
  const std::string id = cloud::machine_id_told("huawei", answer["id"].text());
  return {.id = id,
          .index = index_of(answer),
          .state = state_of(answer),
          .address = cloud::MachineAddress::told("huawei", id, address_in(answer, "floating")),
          .private_address = cloud::MachineAddress::told("huawei", id, address_in(answer, "fixed")),
          .site = {region, answer["OS-EXT-AZ:availability_zone"].text()},
          .type = answer["flavor"]["id"].text(),
          .launched = answer["created"].text(),
          .failure = answer["fault"]["message"].text(),
          .marks = {.cluster = {tag_in(answer, cloud::kClusterTag)},
                    .cluster_name = tag_in(answer, cloud::kNameTag),
                    .owner = tag_in(answer, cloud::kOwnerTag)},
          .vpc = answer["metadata"]["vpc_id"].text(),
          .host_key = tag_in(answer, cloud::kHostKeyTag),
          .taken = tag_in(answer, cloud::kTakenTag),
          .launched_as = tag_in(answer, cloud::kLaunchedTag)};
}

HuaweiJob job_in(const Answer& answer) {
  HuaweiJob job;
  const std::string status = answer["status"].text();
  job.is_over = status == "SUCCESS" || status == "FAIL";
  auto parts = answer["entities"]["sub_jobs"].items();
  if (parts.empty()) parts.push_back(answer);
  for (const Answer& part : parts) {
    const std::string id = part["entities"]["server_id"].text();
    const bool has_failed = part["status"].text() == "FAIL";
    if (!id.empty()) (has_failed ? job.failed : job.made).push_back(id);
    if (has_failed && !job.failure) job.failure = failure_of_job(part);
  }
  if (status == "FAIL" && !job.failure) job.failure = failure_of_job(answer);
  return job;
}

}  // namespace fastgpu::provision::huawei
