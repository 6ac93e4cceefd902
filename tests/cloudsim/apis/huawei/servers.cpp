#include <algorithm>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "cloudsim/apis/huawei/call.hpp"
#include "cloudsim/auth/signature.hpp"
#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::huawei {
namespace {

struct Status {
  const char* status;
  const char* vm_state;
  Json task;
};

/// Returns the status. A transition is visible only in the task.
Status status_of(const Instance& instance) {
  switch (instance.state) {
    case State::pending:
      return {"BUILD", "building", "spawning"};
    case State::running:
      return {"ACTIVE", "active", nullptr};
    case State::stopping:
      return {"ACTIVE", "active", "powering-off"};
    case State::stopped:
      return {"SHUTOFF", "stopped", nullptr};
    case State::starting:
      return {"SHUTOFF", "stopped", "powering-on"};
    case State::shutting_down:
    case State::terminated:
      return {"ACTIVE", "active", "deleting"};
    case State::failed:
      return {"ERROR", "error", nullptr};
  }
  return {"UNKNOWN", "", nullptr};
}

Json addresses_of(const Instance& instance) {
  Json list = Json::array();
  const auto add = [&](const std::string& address, const char* kind) {
    if (!address.empty())
      list.push_back({{"addr", address},
                      {"version", "4"},
                      {"OS-EXT-IPS:type", kind},
                      {"OS-EXT-IPS-MAC:mac_addr", "fa:16:3e:00:00:01"}});
  };
  add(instance.private_address, "fixed");
  add(instance.public_address, "floating");
  return {{instance.vpc, list}};
}

Json shape(const HuaweiCall& call, const Instance& instance) {
  const MachineType& type = *call.catalogue().type(instance.type);
  const Status status = status_of(instance);
  Json tags = Json::array();
  for (const auto& [key, value] : instance.tags)
    tags.push_back(key + "=" + value);
  Json groups = Json::array();
  for (const std::string& id : instance.groups)
    groups.push_back({{"id", id}, {"name", resource(call, "group", id).name}});
  Json flavor = {{"id", type.name},
                 {"name", type.name},
                 {"vcpus", std::to_string(type.vcpus)},
                 {"ram", std::to_string(type.memory_mb)},
                 {"disk", "0"}};
  Json out = {
      {"id", instance.id},
      {"name", instance.name},
      {"status", status.status},
      {"OS-EXT-STS:vm_state", status.vm_state},
      {"OS-EXT-STS:task_state", status.task},
      {"OS-EXT-STS:power_state", instance.state == State::running ? 1 : 4},
      {"OS-EXT-AZ:availability_zone", instance.zone},
      {"OS-EXT-SRV-ATTR:hostname", ascii_lower(instance.name)},
      {"tenant_id", project_of(instance.scope.region)},
      {"created", iso_time(instance.created)},
      {"updated", iso_time(call.world.now())},
      {"addresses", addresses_of(instance)},
      {"flavor", std::move(flavor)},
      {"image", {{"id", instance.image}}},
      {"metadata",
       {{"charging_mode", instance.market == Market::spot ? "2" : "0"}, {"vpc_id", instance.vpc}}},
      {"security_groups", std::move(groups)},
      {"tags", std::move(tags)},
      {"auto_terminate_time",
       instance.release_at ? iso_time(*instance.release_at) : std::string()}};
  if (instance.state == State::failed)
    out["fault"] = {
        {"code", 500}, {"message", instance.reason}, {"created", iso_time(call.world.now())}};
  return out;
}

/// Returns true if the instance has the tags "key" or "key=value", separated by commas.
bool has_tags(const Instance& instance, const std::string& wanted) {
  if (wanted.empty()) return true;
  return std::ranges::all_of(split(wanted, ','), [&](const std::string& tag) {
    const std::size_t equals = tag.find('=');
    const auto found = instance.tags.find(tag.substr(0, equals));
    if (found == instance.tags.end()) return false;
    return equals == std::string::npos || found->second == tag.substr(equals + 1);
  });
}

std::vector<std::string> named_ids(const HuaweiCall& call) {
  const std::string ids = call.asked("server_id");
  return ids.empty() ? std::vector<std::string>{} : split(ids, ',');
}

/// Returns the entry for an unknown id in `server_id`, as the vendor's kit describes it: only the
/// id and a fault.
Json unknown(const HuaweiCall& call, const std::string& id) {
  Json entry = {{"id", id}};
  for (const char* member :
       {"name", "status", "OS-EXT-STS:vm_state", "OS-EXT-STS:task_state", "OS-EXT-STS:power_state",
        "OS-EXT-AZ:availability_zone", "OS-EXT-SRV-ATTR:hostname", "tenant_id", "created",
        "updated", "addresses", "flavor", "image", "metadata", "security_groups", "tags",
        "auto_terminate_time"})
    entry[member] = nullptr;
  entry["fault"] = {{"code", 404},
                    {"message", "Instance[" + id + "] could not be found."},
                    {"created", iso_time(call.world.now())}};
  return entry;
}

std::vector<const Instance*> selected(const HuaweiCall& call) {
  const auto wanted = named_ids(call);
  if (wanted.size() > 100) throw ProtocolViolation(400, "Ecs.0005", "at most 100 ids in server_id");
  std::vector<const Instance*> out;
  for (const Instance* each : call.world.instances_of(call.scope)) {
    const bool named = wanted.empty() || contains(wanted, each->id);
    const std::string status = call.asked("status", status_of(*each).status);
    if (named && has_tags(*each, call.asked("tags")) && status == status_of(*each).status &&
        each->name.find(call.asked("name")) != std::string::npos)
      out.push_back(each);
  }
  std::ranges::sort(out, std::greater{}, [](const Instance* each) {
    return std::tie(each->created, each->launch_index, each->id);
  });
  return out;
}

/// Lists servers. The offset counts pages from one.
Answered list_servers(const HuaweiCall& call) {
  const std::size_t limit = std::max<std::size_t>(asked_number(call, "limit", 25, 1000), 1);
  const std::size_t page = asked_number(call, "offset", 1, 1'000'000);
  const auto all = selected(call);
  Json servers = Json::array();
  const std::size_t begin = (std::max<std::size_t>(page, 1) - 1) * limit;
  for (std::size_t i = begin; i < std::min(all.size(), begin + limit); ++i)
    servers.push_back(shape(call, *all[i]));
  for (const std::string& id : named_ids(call))
    if (page <= 1 && !contains(all, id, [](const Instance* each) { return each->id; }))
      servers.push_back(unknown(call, id));
  return {200, {{"count", all.size()}, {"servers", servers}}};
}

Answered show_server(const HuaweiCall& call) {
  return {200, {{"server", shape(call, server(call, call.path.at("server_id")))}}};
}

std::vector<Instance*> named(const HuaweiCall& call, const Json& servers) {
  if (servers.empty() || servers.size() > 1000)
    throw ProtocolViolation(400, "Ecs.0005", "1 to 1000 servers in a request");
  std::vector<Instance*> out;
  for (const Json& each : servers)
    out.push_back(&server(call, each.at("id")));
  return out;
}

/// Changes servers as parts of a job. A server that cannot do this now fails in the job.
template <class Act>
Answered change(const HuaweiCall& call, const Json& servers, Goal goal, Act act) {
  std::vector<SubJob> parts;
  for (Instance* each : named(call, servers)) {
    SubJob part{.server = each->id};
    try {
      act(*each);
    } catch (const ApiFailure& failure) {
      const bool no_stock = failure.kind() == ApiFailureKind::no_stock;
      part.code = no_stock ? "Ecs.0219" : "Ecs.0025";
      part.reason = no_stock ? "No valid host was found." : failure.what();
    }
    parts.push_back(std::move(part));
  }
  return {200, {{"job_id", begin_job(call, goal, std::move(parts))}}};
}

Answered start(const HuaweiCall& call) {
  return change(call, call.body.at("os-start").at("servers"), Goal::started, [&](Instance& each) {
    if (each.state != State::stopped)
      throw ApiFailure(ApiFailureKind::wrong_state, each.id, "the server is not stopped");
    call.world.start(each);
  });
}

Answered stop(const HuaweiCall& call) {
  return change(call, call.body.at("os-stop").at("servers"), Goal::stopped, [&](Instance& each) {
    if (each.state != State::running)
      throw ApiFailure(ApiFailureKind::wrong_state, each.id, "the server is not active");
    call.world.stop(each);
  });
}

Answered remove(const HuaweiCall& call) {
  const bool with_address = call.body.value("delete_publicip", false);
  return change(call, call.body.at("servers"), Goal::deleted, [&](Instance& each) {
    for (const std::string& id : each.attached)
      if (Resource* address = call.world.find(call.scope, "publicip", id);
          address != nullptr && with_address)
        address->part_of = each.id;
    call.world.terminate(each);
  });
}

Answered set_timer(const HuaweiCall& call) {
  server(call, call.path.at("server_id")).release_at =
      read_timer(call, call.body.at("auto_terminate_time"));
  return {204, {}};
}

Answered rename(const HuaweiCall& call) {
  Instance& each = server(call, call.path.at("server_id"));
  each.name = call.body.at("server").value("name", each.name);
  return {200, {{"server", shape(call, each)}}};
}

Answered show_tags(const HuaweiCall& call) {
  Json tags = Json::array();
  for (const auto& [key, value] : server(call, call.path.at("server_id")).tags)
    tags.push_back({{"key", key}, {"value", value}});
  return {200, {{"tags", tags}}};
}

Answered add_tags(const HuaweiCall& call) {
  Instance& each = server(call, call.path.at("server_id"));
  for (const Json& tag : call.body.at("tags"))
    each.tags[tag.at("key")] = tag.value("value", "");
  return {204, {}};
}

Answered remove_tags(const HuaweiCall& call) {
  Instance& each = server(call, call.path.at("server_id"));
  for (const Json& tag : call.body.at("tags"))
    each.tags.erase(tag.at("key"));
  return {204, {}};
}

Answered list_by_tag(const HuaweiCall& call) {
  Json found = Json::array();
  for (const Instance* each : call.world.instances_of(call.scope)) {
    const bool fits =
        std::ranges::all_of(call.body.value("tags", Json::array()), [&](const Json& tag) {
          const auto own = each->tags.find(tag.at("key"));
          const Json& values = tag.at("values");
          return own != each->tags.end() && (values.empty() || contains(values, Json(own->second)));
        });
    if (!fits) continue;
    Json tags = Json::array();
    for (const auto& [key, value] : each->tags)
      tags.push_back({{"key", key}, {"value", value}});
    found.push_back({{"resource_id", each->id}, {"resource_name", each->name}, {"tags", tags}});
  }
  return {200, {{"resources", found}, {"total_count", found.size()}}};
}

struct Progress {
  const char* status;
  std::string code{}, reason{};
};

/// Returns the progress of a part of a job, by the state of its server.
Progress progress_of(const HuaweiCall& call, const JobRecord& job, const SubJob& part) {
  if (!part.code.empty()) return {"FAIL", part.code, part.reason};
  const auto found = call.world.instances.find(part.server);
  const State state = found == call.world.instances.end() ? State::terminated : found->second.state;
  switch (job.goal) {
    case Goal::created:
      if (state == State::failed)
        return {"FAIL", "Ecs.0219", "create server failed: " + found->second.reason};
      return {state == State::pending ? "RUNNING" : "SUCCESS"};
    case Goal::started:
      return {state == State::starting ? "RUNNING" : "SUCCESS"};
    case Goal::stopped:
      return {state == State::stopping ? "RUNNING" : "SUCCESS"};
    case Goal::deleted:
      return {state == State::terminated ? "SUCCESS" : "RUNNING"};
  }
  return {"SUCCESS"};
}

const char* type_name(Goal goal) {
  switch (goal) {
    case Goal::created:
      return "createServer";
    case Goal::started:
      return "startServer";
    case Goal::stopped:
      return "stopServer";
    case Goal::deleted:
      return "deleteServer";
  }
  return "";
}

Answered show_job(const HuaweiCall& call) {
  const std::string& id = call.path.at("job_id");
  const auto found = call.memory.jobs.find({call.scope, id});
  if (found == call.memory.jobs.end())
    throw Refusal(404, "Ecs.0614", "The job " + id + " does not exist.");
  const JobRecord& job = found->second;
  Json parts = Json::array();
  std::string status = "SUCCESS";
  Progress first_failure{"SUCCESS"};
  for (const SubJob& part : job.parts) {
    const Progress progress = progress_of(call, job, part);
    Json entities = Json::object();
    if (!part.server.empty()) entities["server_id"] = part.server;
    if (!progress.reason.empty()) entities["errorcode_message"] = progress.reason;
    parts.push_back({{"job_id", id.substr(0, 28) + std::to_string(1000 + parts.size())},
                     {"job_type", type_name(job.goal)},
                     {"begin_time", iso_time(job.begun)},
                     {"status", progress.status},
                     {"entities", entities},
                     {"error_code", progress.code.empty() ? Json() : Json(progress.code)},
                     {"fail_reason", progress.reason.empty() ? Json() : Json(progress.reason)}});
    const std::string one = progress.status;
    if (one == "RUNNING" || (one == "FAIL" && status != "RUNNING")) status = one;
    if (one == "FAIL" && first_failure.code.empty()) first_failure = progress;
  }
  const bool failed = status == "FAIL";
  return {200,
          {{"job_id", id},
           {"job_type", type_name(job.goal)},
           {"begin_time", iso_time(job.begun)},
           {"status", status},
           {"entities", {{"sub_jobs_total", parts.size()}, {"sub_jobs", parts}}},
           {"error_code", failed ? Json(first_failure.code) : Json()},
           {"fail_reason", failed ? Json(first_failure.reason) : Json()}}};
}

constexpr HuaweiAction kServersActions[] = {
    {"ecs", "ListServersDetails", "GET", "/v1/{project_id}/cloudservers/detail", "", list_servers},
    {"ecs", "BatchStartServers", "POST", "/v1/{project_id}/cloudservers/action", "os-start", start},
    {"ecs", "BatchStopServers", "POST", "/v1/{project_id}/cloudservers/action", "os-stop", stop},
    {"ecs", "DeleteServers", "POST", "/v1/{project_id}/cloudservers/delete", "", remove},
    {"ecs", "ListServersByTag", "POST", "/v1/{project_id}/cloudservers/resource_instances/action",
     "", list_by_tag},
    {"ecs", "ShowJob", "GET", "/v1/{project_id}/jobs/{job_id}", "", show_job},
    {"ecs", "UpdateServerAutoTerminateTime", "POST",
     "/v1/{project_id}/cloudservers/{server_id}/actions/update-auto-terminate-time", "", set_timer},
    {"ecs", "UpdateServer", "PUT", "/v1/{project_id}/cloudservers/{server_id}", "", rename},
    {"ecs", "ShowServerTags", "GET", "/v1/{project_id}/cloudservers/{server_id}/tags", "",
     show_tags},
    {"ecs", "BatchCreateServerTags", "POST",
     "/v1/{project_id}/cloudservers/{server_id}/tags/action", "create", add_tags},
    {"ecs", "BatchDeleteServerTags", "POST",
     "/v1/{project_id}/cloudservers/{server_id}/tags/action", "delete", remove_tags},
};

constexpr HuaweiAction kShow = {
    "ecs", "ShowServer", "GET", "/v1/{project_id}/cloudservers/{server_id}", "", show_server};

}  // namespace

std::span<const HuaweiAction> server_actions() {
  return kServersActions;
}

std::span<const HuaweiAction> one_server_actions() {
  return std::span(&kShow, 1);
}

}  // namespace fastgpu::cloudsim::huawei
