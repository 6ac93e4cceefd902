// The JSON of jobs.
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/json_members.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "state/part_json.hpp"
#include "state/record_text.hpp"
#include "state/words.hpp"

namespace fastgpu::state {
namespace {

using nlohmann::json;

constexpr const char* kJobSchema = "fastgpu.job/1";

json to_node(const NodeRanks& node) {
  json object = {{"name", node.node.value}, {"first", node.first}, {"ranks", node.count}};
  if (node.workers > 0) object["workers"] = node.workers;
  if (!node.cpus.empty()) object["cpus"] = node.cpus;
  if (!node.gpus.empty()) object["gpus"] = node.gpus;
  if (!node.instance_id.empty()) object["instance"] = node.instance_id;
  return object;
}

NodeRanks parse_node(const json& object) {
  return {.node = {field<std::string>(object, "name")},
          .first = field<int>(object, "first"),
          .count = field<int>(object, "ranks"),
          .workers = object.value("workers", 0),
          .cpus = object.value("cpus", std::vector<std::string>()),
          .gpus = object.value("gpus", std::vector<int>()),
          .instance_id = object.value("instance", std::string())};
}

json text_or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

json to_choice(const PlaceChoice& choice) {
  json nodes = json::array();
  for (const NodeSlots& node : choice.nodes)
    nodes.push_back({{"name", node.name.value}, {"slots", node.slots}});
  json object = {{"nodes", std::move(nodes)}};
  if (choice.per_node) object["per_node"] = *choice.per_node;
  return object;
}

json to_failure(const FirstFailure& failure) {
  return {{"rank", failure.rank},
          {"node", failure.node.value},
          {"exit_code", failure.exit_code ? json(*failure.exit_code) : json()},
          {"signal", text_or_null(failure.signal)},
          {"out_of_memory", failure.out_of_memory},
          {"full_disk", text_or_null(failure.full_disk)},
          {"last_lines", failure.last_lines}};
}

json to_element(const ArrayElement& element) {
  return {{"index", element.index},
          {"count", element.count},
          {"variables", element.variables},
          {"due", element.is_due}};
}

std::optional<ArrayElement> parse_element(const json& record) {
  const auto found = record.find("array");
  if (found == record.end() || !found->is_object()) return std::nullopt;
  return ArrayElement{.index = field<int>(*found, "index"),
                      .count = field<int>(*found, "count"),
                      .variables = found->value("variables", std::vector<std::string>()),
                      .is_due = found->value("due", false)};
}

std::optional<UsedEnvironment> parse_used_environment(const json& record) {
  const auto found = record.find("environment");
  if (found == record.end() || !found->is_object()) return std::nullopt;
  return UsedEnvironment{.name = field<std::string>(*found, "name"),
                         .prefix = field<std::string>(*found, "prefix")};
}

json to_slurm(const SlurmOptions& slurm) {
  json object = json::object();
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) object[key] = value;
  };
  const auto number = [&](const char* key, std::optional<int> value) {
    if (value) object[key] = *value;
  };
  text("partition", slurm.partition);
  text("account", slurm.account);
  text("qos", slurm.qos);
  text("mpi", slurm.mpi);
  text("gpu_type", slurm.gpu_type);
  text("memory", slurm.memory);
  text("memory_per_cpu", slurm.memory_per_cpu);
  text("constraint", slurm.constraint);
  text("reservation", slurm.reservation);
  text("nodelist", slurm.nodelist);
  text("exclude", slurm.exclude);
  if (slurm.exclusive) object["exclusive"] = true;
  number("nodes", slurm.nodes);
  number("gpus", slurm.gpus);
  number("cpus", slurm.cpus);
  return object;
}

json to_kubernetes(const KubernetesOptions& options) {
  json object = json::object();
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) object[key] = value;
  };
  text("image", options.image);
  text("context", options.context);
  text("namespace", options.name_space);
  text("memory", options.memory);
  text("cpus", options.cpus);
  if (options.workers) object["workers"] = *options.workers;
  if (options.gpus) object["gpus"] = *options.gpus;
  return object;
}

std::optional<int> number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int>();
}

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? "" : found->get<std::string>();
}

std::optional<PlaceChoice> parse_choice(const json& record) {
  const auto found = record.find("choice");
  if (found == record.end() || !found->is_object()) return std::nullopt;
  PlaceChoice choice{.per_node = number_in(*found, "per_node")};
  for (const json& node : field<json>(*found, "nodes"))
    choice.nodes.push_back({{field<std::string>(node, "name")}, field<int>(node, "slots")});
  return choice;
}

std::optional<FirstFailure> parse_failure(const json& record) {
  const auto found = record.find("failure");
  if (found == record.end() || !found->is_object()) return std::nullopt;
  FirstFailure failure{.rank = field<int>(*found, "rank"),
                       .node = {field<std::string>(*found, "node")}};
  failure.exit_code = number_in(*found, "exit_code");
  failure.signal = text_in(*found, "signal");
  failure.out_of_memory = found->value("out_of_memory", false);
  failure.full_disk = text_in(*found, "full_disk");
  failure.last_lines = found->value("last_lines", std::vector<std::string>());
  return failure;
}

std::int64_t milliseconds_of(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

TimePoint time_of_milliseconds(std::int64_t count) {
  return TimePoint(std::chrono::milliseconds(count));
}

/// Puts what is known of the beginning, and of a bad end.
void put_end(json& object, const JobRecord& record) {
  if (record.cause != JobEndCause::none) object["cause"] = to_string(record.cause);
  if (record.started) object["started_ms"] = milliseconds_of(*record.started);
  if (record.never_began) object["never_began"] = true;
  if (record.is_preparing) object["preparing"] = true;
  if (record.id_taken) object["id_taken"] = true;
  if (record.failure) object["failure"] = to_failure(*record.failure);
  for (const NodeName& node : record.lost_nodes)
    object["lost_nodes"].push_back(node.value);
  for (const FullDiskAt& disk : record.full_disks)
    object["full_disks"].push_back({{"node", disk.node.value}, {"path", disk.path}});
  if (record.outputs != Outputs::none) object["outputs"] = to_string(record.outputs);
  if (record.bundle_awaited) object["bundle_awaited"] = true;
  if (!record.not_done.empty()) object["not_done"] = record.not_done;
}

void parse_end(JobRecord& record, const json& object) {
  record.cause = parse_end_cause(object.value("cause", "none"));
  if (const auto started = object.find("started_ms");
      started != object.end() && started->is_number_integer())
    record.started = time_of_milliseconds(started->get<std::int64_t>());
  record.never_began = object.value("never_began", false);
  record.is_preparing = object.value("preparing", false);
  record.id_taken = object.value("id_taken", false);
  record.failure = parse_failure(object);
  for (const std::string& node : object.value("lost_nodes", std::vector<std::string>()))
    record.lost_nodes.push_back({node});
  for (const json& disk : object.value("full_disks", json::array()))
    record.full_disks.push_back({{text_in(disk, "node")}, text_in(disk, "path")});
  record.outputs = parse_outputs(object.value("outputs", "none"));
  record.bundle_awaited = object.value("bundle_awaited", false);
  record.not_done = object.value("not_done", std::vector<std::string>());
}

SlurmOptions parse_slurm(const json& record) {
  const auto found = record.find("slurm");
  if (found == record.end() || !found->is_object()) return {};
  return {.partition = text_in(*found, "partition"),
          .account = text_in(*found, "account"),
          .qos = text_in(*found, "qos"),
          .mpi = text_in(*found, "mpi"),
          .nodes = number_in(*found, "nodes"),
          .gpus = number_in(*found, "gpus"),
          .gpu_type = text_in(*found, "gpu_type"),
          .cpus = number_in(*found, "cpus"),
          .memory = text_in(*found, "memory"),
          .memory_per_cpu = text_in(*found, "memory_per_cpu"),
          .constraint = text_in(*found, "constraint"),
          .reservation = text_in(*found, "reservation"),
          .nodelist = text_in(*found, "nodelist"),
          .exclude = text_in(*found, "exclude"),
          .exclusive = found->value("exclusive", false)};
}

KubernetesOptions parse_kubernetes(const json& record) {
  const auto found = record.find("kubernetes");
  if (found == record.end() || !found->is_object()) return {};
  return {.image = text_in(*found, "image"),
          .context = text_in(*found, "context"),
          .name_space = text_in(*found, "namespace"),
          .memory = text_in(*found, "memory"),
          .cpus = text_in(*found, "cpus"),
          .workers = number_in(*found, "workers"),
          .gpus = number_in(*found, "gpus")};
}

/// Puts what only engines with a queue of their own have.
void put_engine(json& object, const JobRecord& record) {
  if (record.spec.engine == EngineKind::slurm) object["slurm"] = to_slurm(record.spec.slurm);
  if (record.spec.engine == EngineKind::kubernetes)
    object["kubernetes"] = to_kubernetes(record.spec.kubernetes);
  if (!record.engine_job.id.empty()) object["engine_job"] = record.engine_job.id;
  if (!record.engine_job.nodes.empty()) object["engine_nodes"] = record.engine_job.nodes;
  if (!record.engine_job.key.empty()) object["engine_key"] = record.engine_job.key;
}

JobRecord parse_job_record(const std::string& text) try {
  const json object = parse_json(text, "the job's record");
  const auto schema = field<std::string>(object, "schema");
  if (schema != kJobSchema)
    throw Error(ErrorKind::remote, "the job's record is of schema '" + printable(schema) + "'");
  JobRecord record;
  record.spec.name = {field<std::string>(object, "name")};
  record.spec.argv = field<std::vector<std::string>>(object, "command");
  record.spec.directory = field<std::string>(object, "directory");
  record.spec.sync = field<std::string>(object, "sync");
  record.spec.timeout = std::chrono::milliseconds(field<std::int64_t>(object, "timeout_ms"));
  record.spec.grace =
      std::chrono::milliseconds(object.value("grace_ms", record.spec.grace.count()));
  record.spec.launcher = parse_launcher(object.value("launcher", "mpirun"));
  record.spec.engine = parse_engine(object.value("engine", "mpirun"));
  record.spec.slurm = parse_slurm(object);
  record.spec.kubernetes = parse_kubernetes(object);
  record.engine_job = {.id = text_in(object, "engine_job"),
                       .nodes = text_in(object, "engine_nodes"),
                       .key = text_in(object, "engine_key")};
  record.spec.per = parse_rank_unit(object.value("per", "none"));
  if (field<bool>(object, "detached")) record.spec.presence = Presence::detached;
  for (const json& node : field<json>(object, "nodes"))
    record.placement.push_back(parse_node(node));
  for (const json& name : object.value("variables", json::array()))
    if (name.is_string()) record.variables.push_back(name.get<std::string>());
  record.spec.priority = object.value("priority", 0);
  record.spec.after = object.value("after", std::vector<std::string>());
  if (object.value("shared", false)) record.spec.sharing = Sharing::shared;
  if (object.value("keeps_processes", false)) record.spec.leftovers = Leftovers::kept;
  record.spec.array = parse_element(object);
  record.spec.used_environment = parse_used_environment(object);
  parse_end(record, object);
  record.spec.retries = object.value("retries", 0);
  for (const json& cause : object.value("retry_on", json::array()))
    if (cause.is_string())
      record.spec.retry_on.push_back(parse_end_cause(cause.get<std::string>()));
  record.spec.hang_timeout =
      std::chrono::milliseconds(object.value("hang_timeout_ms", std::int64_t{0}));
  record.spec.checkpoints = object.value("checkpoints", "");
  if (object.contains("keep_jobs")) record.spec.keep_jobs = field<int>(object, "keep_jobs");
  record.spec.at_end = object.value("at_end", std::vector<std::string>());
  record.restarts = object.value("restarts", 0);
  record.part_holders = object.value("part_holders", std::vector<std::string>());
  record.part_ends = parse_ends_needed(object.value("part_ends", "all"));
  record.choice = parse_choice(object);
  if (record.placement.empty()) throw Error(ErrorKind::remote, "the job's record has no nodes");
  return record;
} catch (const json::exception& e) {  // A field that may be absent has another type.
  throw Error(ErrorKind::remote, std::string("the job's record: ") + e.what());
}

void read_start(std::string_view name, std::string_view value, RecordedStart& start) {
  if (name == "never_began") start.never_began = value == "true";
  if (name != "started_ms") return;
  if (const auto count = to_number<std::int64_t>(value))
    start.started = time_of_milliseconds(*count);
}

void read_listed_node(std::string_view node, ListedRequest& request, int& workers) {
  for_each_json_member(node, [&](std::string_view name, std::string_view value) {
    if (name == "name") request.nodes.push_back(json_string(value).value_or(""));
    if (name == "ranks") request.ranks += to_number<int>(value).value_or(0);
    if (name == "workers") workers += to_number<int>(value).value_or(0);
  });
}

}  // namespace

std::optional<ListedRequest> listed_request(std::string_view text) try {
  ListedRequest request;
  std::optional<std::string> schema;
  int workers = 0;
  const bool is_whole =
      for_each_json_member(text, [&](std::string_view name, std::string_view value) {
        if (name == "schema") schema = json_string(value);
        if (name == "engine") request.engine = parse_engine(json_string(value).value_or(""));
        if (name == "engine_nodes") request.engine_nodes = json_string(value).value_or("");
        read_start(name, value, request.start);
        if (name == "priority") request.priority = to_number<int>(value).value_or(0);
        if (name == "command")
          for_each_json_item(value, [&](std::string_view item) {
            request.argv.push_back(json_string(item).value_or(""));
          });
        if (name == "nodes")
          for_each_json_item(
              value, [&](std::string_view item) { read_listed_node(item, request, workers); });
      });
  if (!is_whole || schema != kJobSchema || request.nodes.empty()) return std::nullopt;
  if (workers > 0) request.ranks = workers;
  return request;
} catch (const Error&) {  // A newer fastgpu knows more engines.
  return std::nullopt;
}

ListedRequest listed_request(const JobRecord& record) {
  ListedRequest request{.argv = record.spec.argv,
                        .engine = record.spec.engine,
                        .priority = record.spec.priority,
                        .engine_nodes = record.engine_job.nodes,
                        .start = {record.started, record.never_began}};
  int workers = 0;
  for (const NodeRanks& node : record.placement) {
    request.nodes.push_back(node.node.value);
    request.ranks += node.count;
    workers += node.workers;
  }
  if (workers > 0) request.ranks = workers;
  return request;
}

std::string record_text_of(const JobRecord& record) {
  json variables = record.variables;
  for (const std::string& assignment : record.spec.environment)
    variables.push_back(assignment.substr(0, assignment.find('=')));
  json nodes = json::array();
  for (const NodeRanks& node : record.placement)
    nodes.push_back(to_node(node));
  // Arguments may be any bytes; JSON is UTF-8, so others are shown as a replacement character.
  json object = {{"schema", kJobSchema},
                 {"name", record.spec.name.value},
                 {"command", record.spec.argv},
                 {"variables", variables},
                 {"directory", record.spec.directory},
                 {"sync", record.spec.sync},
                 {"timeout_ms", record.spec.timeout.count()},
                 {"grace_ms", record.spec.grace.count()},
                 {"detached", record.spec.presence == Presence::detached},
                 {"engine", to_string(record.spec.engine)},
                 {"launcher", to_string(record.spec.launcher)},
                 {"nodes", nodes}};
  if (record.spec.per != RankUnit::none) object["per"] = to_string(record.spec.per);
  if (record.spec.priority != 0) object["priority"] = record.spec.priority;
  if (!record.spec.after.empty()) object["after"] = record.spec.after;
  if (record.spec.sharing == Sharing::shared) object["shared"] = true;
  if (record.spec.leftovers == Leftovers::kept) object["keeps_processes"] = true;
  if (record.spec.array) object["array"] = to_element(*record.spec.array);
  if (const auto& used = record.spec.used_environment)
    object["environment"] = {{"name", used->name}, {"prefix", used->prefix}};
  if (record.spec.retries > 0) {
    object["retries"] = record.spec.retries;
    object["retry_on"] = json::array();
    for (const JobEndCause cause : record.spec.retry_on)
      object["retry_on"].push_back(to_string(cause));
  }
  if (record.spec.hang_timeout.count() > 0)
    object["hang_timeout_ms"] = record.spec.hang_timeout.count();
  if (!record.spec.checkpoints.empty()) object["checkpoints"] = record.spec.checkpoints;
  if (record.spec.keep_jobs) object["keep_jobs"] = *record.spec.keep_jobs;
  if (!record.spec.at_end.empty()) object["at_end"] = record.spec.at_end;
  if (record.restarts > 0) object["restarts"] = record.restarts;
  if (!record.part_holders.empty()) object["part_holders"] = record.part_holders;
  if (record.part_ends != EndsNeeded::all) object["part_ends"] = to_string(record.part_ends);
  if (record.choice) object["choice"] = to_choice(*record.choice);
  put_engine(object, record);
  put_end(object, record);
  return text_of(object);
}

std::string record_text_of(const Job& job) {
  return job.record.is_new() ? record_text_of(*job.record) : RecordText::of(job.text);
}

RecordedStart recorded_start(const Job& job) {
  if (job.record.is_new()) return {job.record->started, job.record->never_began};
  RecordedStart start;
  for_each_json_member(
      RecordText::of(job.text),
      [&](std::string_view name, std::string_view value) { read_start(name, value, start); });
  return start;
}

bool may_have_bad_end(const Job& job) {
  if (job.record.is_new()) return true;
  bool has_part = false;
  for_each_json_member(RecordText::of(job.text), [&](std::string_view name, std::string_view) {
    for (const std::string_view part : {"cause", "failure", "lost_nodes", "full_disks"})
      if (name == part) has_part = true;
  });
  return has_part;
}

void read_record_text(Job& job, std::string text) {
  job.record = Recorded<JobRecord>::to_read(
      [id = job.id, kept = RecordText::keep(job.text, std::move(text))] {
        try {
          return parse_job_record(*kept);
        } catch (const Error& e) {
          throw e.during("job '" + id + "'");
        }
      });
}

}  // namespace fastgpu::state
