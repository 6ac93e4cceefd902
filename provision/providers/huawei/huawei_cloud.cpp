#include "provision/providers/huawei/huawei_cloud.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/join.hpp"
#include "provision/cloud/accepted_machines.hpp"
#include "provision/cloud/in_parts.hpp"
#include "provision/polling.hpp"

namespace fastgpu::provision::huawei {
namespace {

using namespace std::chrono_literals;
using cloud::Answer;
using cloud::Failure;
using cloud::Machine;
using cloud::MachineState;

constexpr std::size_t kIdsAQuestion = 100;
constexpr std::size_t kMachinesAPage = 1000;
constexpr int kMostPages = 10'000;

/// The number of polls for a new machine, which may be unknown for some seconds after its launch.
/// If it stays unknown, it is gone.
constexpr int kLooks = 4;
constexpr std::chrono::seconds kBetweenLooks = 2s;

json ids_of(std::span<const std::string> ids) {
  json servers = json::array();
  for (const std::string& id : ids)
    servers.push_back({{"id", id}});
  return servers;
}

std::string doing_of(const cloud::Launch& launch) {
  return "launching " + std::to_string(launch.count) + " " + launch.type + " in " +
         launch.site.zone;
}

/// Returns true for the cloud's answer to a token that it has forgotten, eight hours after its
/// first use.
bool has_forgotten(const Failure& failure) {
  return failure.code == "Ecs.0124";
}

std::string job_named_in(const Answer& answer, const HuaweiCall& call) {
  std::string job = answer["job_id"].text();
  if (job.empty())
    throw Error(ErrorKind::remote, "huawei: " + call.doing + ": the answer names no job");
  return job;
}

/// Adds the machines that the job names as made and that are not listed yet, with the indexes that
/// are left: provision::follow_indexes corrects them by the list.
void add_unlisted(const cloud::Launch& launch, const HuaweiJob& job, std::vector<Machine>& found) {
  const std::span<const Machine> listed(found);
  std::vector<std::string> unlisted;
  std::ranges::copy_if(job.made, std::back_inserter(unlisted),
                       [&](const std::string& id) { return !contains(listed, id, &Machine::id); });
  int index = launch.first;
  for (Machine& machine : cloud::accepted_machines("huawei", launch, unlisted)) {
    while (contains(found, index, &Machine::index))
      ++index;
    machine.index = index;
    found.push_back(machine);
  }
}

}  // namespace

bool HuaweiCloud::has_credentials() {
  return api_.caller().has_credentials();
}

std::string HuaweiCloud::account(const Cancel& cancel) {
  const JsonAnswer answer = api_.call({.service = "iam",
                                       .action = "KeystoneListAuthDomains",
                                       .path = "/v3/auth/domains",
                                       .holds = "domains",
                                       .doing = "identifying the account"},
                                      cancel);
  const auto domains = answer["domains"].items();
  if (domains.empty()) throw Error(ErrorKind::remote, "huawei did not report the account");
  return domains.front()["name"].text() + " " + domains.front()["id"].text();
}

std::vector<std::string> HuaweiCloud::regions(const Cancel& cancel) {
  return api_.regions(cancel);
}

std::vector<Machine> HuaweiCloud::list(const std::string& region, http::Parameters query,
                                       const Cancel& cancel) {
  HuaweiCall call{.region = region,
                  .action = "ListServersDetails",
                  .path = "/v1/{project}/cloudservers/detail",
                  .query = std::move(query),
                  .holds = "servers",
                  .doing = "listing machines in " + region};
  call.query.emplace_back("limit", std::to_string(kMachinesAPage));
  call.query.emplace_back("offset", "");
  std::vector<Machine> found;
  std::string last_before;
  // The offset is the number of a page.
  for (int page = 1; page <= kMostPages; ++page) {
    call.query.back().second = std::to_string(page);
    const JsonAnswer answer = api_.call(call, cancel);
    const auto servers = answer["servers"].items();
    for (const Answer& server : servers)
      found.push_back(machine_of(server, region));
    if (servers.size() < kMachinesAPage) return found;
    const std::string last = found.back().id;
    if (last.empty() || last == last_before) break;
    last_before = last;
  }
  throw Error(ErrorKind::remote, "huawei: " + call.doing + ": the list does not end");
}

std::vector<Machine> HuaweiCloud::find(const std::string& region, std::span<const std::string> ids,
                                       const Cancel& cancel) {
  std::vector<Machine> found;
  for (std::size_t begin = 0; begin < ids.size(); begin += kIdsAQuestion) {
    const auto some = ids.subspan(begin, std::min(kIdsAQuestion, ids.size() - begin));
    const auto look = [&](std::span<const std::string> part) {
      std::ranges::move(list(region, {{"server_id", joined(part, ",")}}, cancel),
                        std::back_inserter(found));
    };
    cloud::throw_refused(cloud::order_in_parts(some, look));
  }
  std::erase_if(found, [](const Machine& machine) { return machine.state == MachineState::gone; });
  return found;
}

std::vector<Machine> HuaweiCloud::machines(const std::string& region,
                                           const state::ClusterId& cluster, const Cancel& cancel) {
  // It is not documented whether a key without a value finds anything. For any cluster's machines
  // all servers are listed.
  http::Parameters query;
  if (!cluster.value.empty())
    query.emplace_back("tags", std::string(cloud::kClusterTag) + "=" + cluster.value);
  std::vector<Machine> found = list(region, std::move(query), cancel);
  std::erase_if(found, [&](const Machine& machine) {
    const bool is_ours = cluster.value.empty() ? !machine.marks.cluster.value.empty()
                                               : machine.marks.cluster == cluster;
    return !is_ours || machine.state == MachineState::gone;
  });
  return found;
}

void HuaweiCloud::terminate(const std::string& region, std::span<const std::string> ids) {
  const auto order = [&](std::span<const std::string> some) {
    api_.call(
        {.region = region,
         .action = "DeleteServers",
         .method = "POST",
         .path = "/v1/{project}/cloudservers/delete",
         .body = {{"servers", ids_of(some)}, {"delete_publicip", true}, {"delete_volume", true}},
         .doing = "ending " + counted(some.size(), "machine") + " in " + region},
        never_);
  };
  cloud::order_known(ids, order, wait_, never_);
}

void HuaweiCloud::change(const std::string& region, std::span<const std::string> ids,
                         const std::string& action, MachineState wanted, const Cancel& cancel) {
  std::vector<std::string> others;
  for (const Machine& machine : find(region, ids, cancel))
    if (machine.state != wanted) others.push_back(machine.id);
  if (others.empty()) return;
  json what = {{"servers", ids_of(others)}};
  if (action == "os-stop") what["type"] = "SOFT";
  const HuaweiCall call{
      .region = region,
      .action = wanted == MachineState::running ? "BatchStartServers" : "BatchStopServers",
      .method = "POST",
      .path = "/v1/{project}/cloudservers/action",
      .body = {{action, std::move(what)}},
      .holds = "job_id",
      .doing = (wanted == MachineState::running ? "starting " : "stopping ") +
               counted(others.size(), "machine") + " in " + region,
      .is_start = wanted == MachineState::running};
  const JsonAnswer answer = api_.call(call, cancel);
  const std::chrono::milliseconds asked = paused_;
  const std::scoped_lock in_turn(turn_);
  HuaweiJob job = await_job(region, job_named_in(answer, call), asked, cancel);
  if (!job.failure) return;
  job.failure->is_start = call.is_start;
  throw cloud::error_of(*job.failure, "huawei: " + call.doing);
}

void HuaweiCloud::start(const std::string& region, std::span<const std::string> ids,
                        const Cancel& cancel) {
  change(region, ids, "os-start", MachineState::running, cancel);
}

void HuaweiCloud::stop(const std::string& region, std::span<const std::string> ids,
                       const Cancel& cancel) {
  change(region, ids, "os-stop", MachineState::stopped, cancel);
}

void HuaweiCloud::release_at(const std::string& region, std::span<const std::string> ids,
                             std::optional<std::chrono::system_clock::time_point> when,
                             const Cancel& cancel) {
  // An empty time removes the timer.
  const std::string time = when ? release_text(*when, std::chrono::system_clock::now()) : "";
  const auto set_one = [&](const std::string& id) {
    api_.call({.region = region,
               .action = "UpdateServerAutoTerminateTime",
               .method = "POST",
               .path = "/v1/{project}/cloudservers/" + http::percent_encode(id) +
                       "/actions/update-auto-terminate-time",
               .body = {{"auto_terminate_time", time}},
               .doing = "setting the end of " + id},
              cancel);
  };
  cloud::order_each(ids, set_one, wait_, cancel);
}

cloud::TimePoint HuaweiCloud::timer_at(cloud::TimePoint wished, cloud::TimePoint now) const {
  return release_time(wished, now);
}

void HuaweiCloud::tag(const std::string& region, std::span<const std::string> ids,
                      const cloud::Tags& tags, const Cancel& cancel) {
  json list = json::array();
  for (const auto& [key, value] : cloud::pairs_of(tags))
    list.push_back({{"key", key}, {"value", value}});
  const auto mark_one = [&](const std::string& id) {
    api_.call({.region = region,
               .action = "BatchCreateServerTags",
               .method = "POST",
               .path = "/v1/{project}/cloudservers/" + http::percent_encode(id) + "/tags/action",
               .body = {{"action", "create"}, {"tags", list}},
               .doing = "marking " + id},
              cancel);
  };
  cloud::order_each(ids, mark_one, wait_, cancel);
}

std::string HuaweiCloud::ask_for(const cloud::Launch& launch, const Cancel& cancel) {
  constexpr int kGenerations = 16;
  HuaweiCall call{.region = launch.site.region,
                  .action = "CreateServers",
                  .method = "POST",
                  .path = "/v1.1/{project}/cloudservers",
                  .body = launch_body(launch, std::chrono::system_clock::now()),
                  .holds = "job_id",
                  .doing = doing_of(launch)};
  for (int generation = 0;; ++generation) {
    call.headers = {{"X-Client-Token", client_token(launch.token, generation)}};
    auto reply = api_.try_call(call, cancel);
    if (const auto* answer = std::get_if<JsonAnswer>(&reply)) return job_named_in(*answer, call);
    const auto& failure = std::get<Failure>(reply);
    if (!has_forgotten(failure) || generation == kGenerations)
      throw cloud::error_of(failure, "huawei: " + call.doing);
  }
}

void HuaweiCloud::pause(std::chrono::milliseconds time, const Cancel& cancel) {
  wait_(time, cancel);
  cancel.check();
  paused_ = paused_.load() + time;
}

HuaweiJob HuaweiCloud::await_job(const std::string& region, const std::string& id,
                                 std::chrono::milliseconds asked, const Cancel& cancel) {
  constexpr std::chrono::milliseconds kTimeout = 10min;
  // The shortest time in which a machine boots.
  constexpr std::chrono::milliseconds kShortest = 800ms;
  constexpr std::chrono::milliseconds kBetween = 250ms;  // A question about one job is cheap.
  if (paused_.load() == asked) pause(kShortest, cancel);
  for (;;) {
    const std::chrono::milliseconds waited = paused_.load() - asked;
    const JsonAnswer answer = api_.call({.region = region,
                                         .action = "ShowJob",
                                         .path = "/v1/{project}/jobs/" + http::percent_encode(id),
                                         .holds = "status",
                                         .doing = "waiting for job " + id + " in " + region},
                                        cancel);
    HuaweiJob job = job_in(answer);
    if (job.is_over || waited >= kTimeout) return job;
    pause(poll_interval(waited, kBetween), cancel);
  }
}

std::vector<Machine> HuaweiCloud::seen_since(const cloud::Launch& launch,
                                             std::chrono::milliseconds asked) const {
  if (seen_.when <= asked) return {};
  std::vector<Machine> all;
  std::ranges::copy_if(seen_.machines, std::back_inserter(all), [&](const Machine& machine) {
    return machine.marks.cluster == launch.marks.cluster && machine.site == launch.site &&
           machine.index >= launch.first && machine.index < launch.first + launch.count &&
           machine.state == MachineState::running;
  });
  return all.size() == static_cast<std::size_t>(launch.count) ? all : std::vector<Machine>();
}

std::vector<Machine> HuaweiCloud::await_listing(const cloud::Launch& launch, const HuaweiJob& job,
                                                const Cancel& cancel) {
  const auto is_made = [&](const Machine& machine) { return contains(job.made, machine.id); };
  for (int look = 1;; ++look) {
    seen_ = {.when = paused_,
             .machines = machines(launch.site.region, launch.marks.cluster, cancel)};
    std::vector<Machine> found;
    std::ranges::copy_if(seen_.machines, std::back_inserter(found), is_made);
    if (found.size() == job.made.size() || look == kLooks) {
      std::ranges::move(find(launch.site.region, job.failed, cancel), std::back_inserter(found));
      return found;
    }
    wait_(kBetweenLooks * look, cancel);
  }
}

std::vector<Machine> HuaweiCloud::launch(const cloud::Launch& launch, const Cancel& cancel) {
  const std::string& region = launch.site.region;
  const std::string id = ask_for(launch, cancel);
  const std::chrono::milliseconds asked = paused_;
  const std::scoped_lock in_turn(turn_);
  if (auto all = seen_since(launch, asked); !all.empty()) return all;
  const HuaweiJob job = await_job(region, id, asked, cancel);
  std::vector<Machine> found = await_listing(launch, job, cancel);
  add_unlisted(launch, job, found);
  const auto is_broken = [&](const Machine& machine) {
    return machine.state == MachineState::failed || contains(job.failed, machine.id);
  };
  std::vector<std::string> removed;
  for (const Machine& machine : found)
    if (is_broken(machine)) removed.push_back(machine.id);
  if (!removed.empty()) terminate(region, removed);
  std::erase_if(found, is_broken);
  const std::string doing = "huawei: " + doing_of(launch);
  if (found.empty() && job.failure) throw cloud::error_of(*job.failure, doing);
  return found;
}

/// Tries the launch in any subnet of the account, because the request must name one.
std::optional<Failure> HuaweiCloud::try_launch(const cloud::Trial& trial, const Cancel& cancel) {
  const auto subnets = api_.call({.service = "vpc",
                                  .region = trial.site.region,
                                  .action = "ListSubnets",
                                  .path = "/v1/{project}/subnets",
                                  .query = {{"limit", "1"}},
                                  .doing = "looking for a network in " + trial.site.region},
                                 cancel);
  const auto found = subnets["subnets"].items();
  if (found.empty()) return Failure{.message = "no network"};
  const auto reply = api_.try_call({.region = trial.site.region,
                                    .action = "CreateServers",
                                    .method = "POST",
                                    .path = "/v1.1/{project}/cloudservers",
                                    .body = trial_body(trial, found.front())},
                                   cancel);
  const auto* failure = std::get_if<Failure>(&reply);
  return failure == nullptr ? std::nullopt : std::optional(*failure);
}

std::unique_ptr<cloud::Cloud> make_cloud(const cloud::CloudSetup& setup) {
  return std::make_unique<HuaweiCloud>(
      setup.tools(credentials::find_huawei),
      cloud::CloudEndpoint::in_variables(kInfo.endpoint_variable, setup.url_in));
}

}  // namespace fastgpu::provision::huawei
