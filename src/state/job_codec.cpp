// The JSON of jobs.
#include "base/json.hpp"
#include "base/names.hpp"
#include "state/codec.hpp"
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
  return object;
}

NodeRanks parse_node(const json& object) {
  return {.node = {field<std::string>(object, "name")},
          .first = field<int>(object, "first"),
          .count = field<int>(object, "ranks"),
          .workers = object.value("workers", 0),
          .cpus = object.value("cpus", std::vector<std::string>())};
}

json to_failure(const FirstFailure& failure) {
  return {{"rank", failure.rank},
          {"node", failure.node.value},
          {"signal", failure.signal.empty() ? json() : json(failure.signal)},
          {"out_of_memory", failure.out_of_memory}};
}

std::optional<FirstFailure> parse_failure(const json& record) {
  const auto found = record.find("failure");
  if (found == record.end() || !found->is_object()) return std::nullopt;
  FirstFailure failure{.rank = field<int>(*found, "rank"),
                       .node = {field<std::string>(*found, "node")}};
  const json signal = found->value("signal", json());
  if (signal.is_string()) failure.signal = signal.get<std::string>();
  failure.out_of_memory = found->value("out_of_memory", false);
  return failure;
}

JobRecord parse_job_record(const std::string& text) {
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
  record.spec.per = parse_rank_unit(object.value("per", "none"));
  if (field<bool>(object, "detached")) record.spec.presence = Presence::detached;
  for (const json& node : field<json>(object, "nodes"))
    record.placement.push_back(parse_node(node));
  for (const json& name : object.value("variables", json::array()))
    if (name.is_string()) record.variables.push_back(name.get<std::string>());
  record.spec.priority = object.value("priority", 0);
  record.spec.after = object.value("after", std::vector<std::string>());
  if (object.value("shared", false)) record.spec.sharing = Sharing::shared;
  record.failure = parse_failure(object);
  if (record.placement.empty()) throw Error(ErrorKind::remote, "the job's record has no nodes");
  return record;
}

}  // namespace

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
                 {"engine", "mpirun"},
                 {"launcher", to_string(record.spec.launcher)},
                 {"nodes", nodes}};
  if (record.spec.per != RankUnit::none) object["per"] = to_string(record.spec.per);
  if (record.spec.priority != 0) object["priority"] = record.spec.priority;
  if (!record.spec.after.empty()) object["after"] = record.spec.after;
  if (record.spec.sharing == Sharing::shared) object["shared"] = true;
  if (record.failure) object["failure"] = to_failure(*record.failure);
  return text_of(object);
}

std::string record_text_of(const Job& job) {
  return job.record.is_new() ? record_text_of(*job.record) : RecordText::of(job.text);
}

void read_record_text(Job& job, std::string text) {
  try {
    job.record = Recorded<JobRecord>::as_read(parse_job_record(text));
  } catch (const Error& e) {
    job.record = Recorded<JobRecord>::unreadable(e.during("job '" + job.id + "'"));
  }
  RecordText::keep(job.text, std::move(text));
}

}  // namespace fastgpu::state
