#include "launcher/job.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/literals.hpp"
#include "base/units.hpp"
#include "launcher/placement.hpp"

namespace fastgpu::launcher {
namespace {

using Json = nlohmann::json;
constexpr const char* kSchema = "fastgpu.job/1";

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::usage, "job: " + why);
}

std::string name_of(const std::string& assignment) {
  return assignment.substr(0, assignment.find('='));
}

void check_variable(const std::string& assignment) {
  const std::string name = name_of(assignment);
  if (name == assignment) refuse("variable '" + printable(assignment) + "' has no '='");
  if (!is_variable_name(name)) refuse("'" + printable(name) + "' is not a variable's name");
}

void check_no_nul(const std::string& what, const std::string& text) {
  if (text.find('\0') != std::string::npos) refuse(what + " has a NUL byte");
}

Json to_node(const NodeRanks& node) {
  return {{"name", node.node.value}, {"first", node.first}, {"ranks", node.count}};
}

NodeRanks parse_node(const Json& json) {
  return {.node = {field<std::string>(json, "name")},
          .first = field<int>(json, "first"),
          .count = field<int>(json, "ranks")};
}

}  // namespace

void validate(const JobSpec& spec) {
  check_name("job name", spec.name.value);
  if (spec.argv.empty() || spec.argv[0].empty()) refuse("there is no program to run");
  for (const std::string& word : spec.argv)
    check_no_nul("an argument", word);
  for (const std::string& assignment : spec.environment) {
    check_no_nul("the value of a variable", assignment);
    check_variable(assignment);
  }
  check_no_nul("the working directory", spec.directory);
  check_count("ranks (-np)", spec.ranks);
  check_count("ranks per node (--npernode)", spec.per_node);
  if (spec.timeout.count() < 0) refuse("the timeout is negative");
}

std::string to_json(const JobRecord& record) {
  Json variables = Json::array();
  for (const std::string& assignment : record.spec.environment)
    variables.push_back(name_of(assignment));
  Json nodes = Json::array();
  for (const NodeRanks& node : record.placement)
    nodes.push_back(to_node(node));
  const Json json = {{"schema", kSchema},
                     {"name", record.spec.name.value},
                     {"command", record.spec.argv},
                     {"variables", variables},
                     {"directory", record.spec.directory},
                     {"sync", record.spec.sync},
                     {"timeout_ms", record.spec.timeout.count()},
                     {"detached", record.spec.presence == Presence::detached},
                     {"engine", "mpirun"},
                     {"nodes", nodes}};
  // Arguments may be any bytes; JSON is UTF-8, so others are shown as a replacement character.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

JobRecord parse_job_record(const std::string& text) {
  const Json json = parse_json(text, "the job's record");
  const auto schema = field<std::string>(json, "schema");
  if (schema != kSchema)
    throw Error(ErrorKind::remote, "the job's record is of schema '" + printable(schema) + "'");
  JobRecord record;
  record.spec.name = {field<std::string>(json, "name")};
  record.spec.argv = field<std::vector<std::string>>(json, "command");
  record.spec.directory = field<std::string>(json, "directory");
  record.spec.sync = field<std::string>(json, "sync");
  record.spec.timeout = std::chrono::milliseconds(field<std::int64_t>(json, "timeout_ms"));
  if (field<bool>(json, "detached")) record.spec.presence = Presence::detached;
  for (const Json& node : field<Json>(json, "nodes"))
    record.placement.push_back(parse_node(node));
  if (record.placement.empty()) throw Error(ErrorKind::remote, "the job's record has no nodes");
  return record;
}

std::string job_directory(const std::string& job_id) {
  return ".fastgpu/jobs/" + job_id;
}

std::string job_work_directory(const std::string& job_id) {
  return job_directory(job_id) + "/work";
}

}  // namespace fastgpu::launcher
