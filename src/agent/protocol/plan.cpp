#include "agent/protocol/plan.hpp"

#include <array>

#include "agent/protocol/records.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {
namespace {

int parse_rank(const std::string& text) {
  const int rank = to_number<int>(text).value_or(-1);
  if (rank >= 0) return rank;
  throw Error(ErrorKind::remote, "job plan: '" + printable(text) + "' is not a rank");
}

int parse_count(const std::string& text) {
  const int count = to_number<int>(text).value_or(-1);
  if (count >= 0) return count;
  throw Error(ErrorKind::remote, "job plan: '" + printable(text) + "' is not a number of ranks");
}

int parse_gpu(const std::string& text) {
  const int gpu = to_number<int>(text).value_or(-1);
  if (gpu >= 0) return gpu;
  throw Error(ErrorKind::remote, "job plan: '" + printable(text) + "' is not a GPU");
}

constexpr std::array<std::string_view, 3> kOnFull = {"fail", "drop", "stop"};

OnFull on_full_in(const Records& records) {
  if (records.all("full").empty()) return OnFull::fail;
  const std::string text = records.get("full");
  for (std::size_t i = 0; i < kOnFull.size(); ++i)
    if (kOnFull[i] == text) return static_cast<OnFull>(i);
  throw Error(ErrorKind::remote, "job plan: '" + printable(text) + "' is no answer to a full disk");
}

/// Returns the grace; that of new plans for a plan of an earlier fastgpu.
std::chrono::milliseconds grace_in(const Records& records) {
  if (records.all("grace").empty()) return JobPlan().grace;
  return std::chrono::milliseconds(records.number("grace"));
}

}  // namespace

std::string to_text(const JobPlan& plan) {
  Records records;
  records.add("id", plan.id);
  records.add("directory", plan.directory);
  records.add("lease", plan.lease.count());
  records.add("timeout", plan.timeout.count());
  records.add("grace", plan.grace.count());
  if (plan.hang_timeout.count() > 0) records.add("hang", plan.hang_timeout.count());
  if (!plan.checkpoints.empty()) records.add("checkpoints", plan.checkpoints);
  for (const std::string& name : plan.port_variables)
    records.add("port", name);
  for (const std::string& argument : plan.argv)
    records.add("arg", argument);
  for (const std::string& assignment : plan.environment)
    records.add("env", assignment);
  for (const int rank : plan.ranks)
    records.add("rank", rank);
  records.add("size", plan.world_size);
  for (const int ranks : plan.ranks_by_node)
    records.add("on_node", ranks);
  for (const std::string& cpus : plan.cpus)
    records.add("cpus", cpus);
  for (const int gpu : plan.gpus)
    records.add("gpu", gpu);
  if (plan.starts_workers) records.add("workers", 1);
  if (plan.has_input) records.add("input", 1);
  if (plan.input_to_all) records.add("input_all", 1);
  if (plan.keeps_processes) records.add("keeps", 1);
  if (plan.on_full != OnFull::fail)
    records.add("full", kOnFull.at(static_cast<std::size_t>(plan.on_full)));
  for (const std::string& name : plan.secrets)
    records.add("secret", name);
  return records.text();
}

std::vector<int> ranks_with_input(const JobPlan& plan) {
  if (!plan.has_input) return {};
  if (plan.input_to_all) return plan.ranks;
  return {0};
}

std::string variables_text(const std::vector<std::string>& assignments) {
  Records records;
  for (const std::string& assignment : assignments)
    records.add("env", assignment);
  return records.text();
}

std::vector<std::string> parse_variables(std::string_view text) {
  return Records(text, "job variables").all("env");
}

JobPlan parse_plan(std::string_view text) {
  const Records records(text, "job plan");
  JobPlan plan{
      .id = records.get("id"),
      .argv = records.all("arg"),
      .environment = records.all("env"),
      .directory = records.get("directory"),
      .lease = std::chrono::milliseconds(records.number("lease")),
      .timeout = std::chrono::milliseconds(records.number("timeout")),
      .grace = grace_in(records),
      .hang_timeout =
          std::chrono::milliseconds(records.all("hang").empty() ? 0 : records.number("hang")),
      .checkpoints = records.all("checkpoints").empty() ? "" : records.get("checkpoints"),
      .port_variables = records.all("port"),
      .ranks = {},
      .world_size = records.all("size").empty() ? 0 : static_cast<int>(records.number("size")),
      .ranks_by_node = {},
      .cpus = records.all("cpus"),
      .gpus = {},
      .starts_workers = !records.all("workers").empty(),
      .has_input = !records.all("input").empty(),
      .input_to_all = !records.all("input_all").empty(),
      .keeps_processes = !records.all("keeps").empty(),
      .on_full = on_full_in(records),
      .secrets = records.all("secret")};
  for (const std::string& rank : records.all("rank"))
    plan.ranks.push_back(parse_rank(rank));
  for (const std::string& count : records.all("on_node"))
    plan.ranks_by_node.push_back(parse_count(count));
  for (const std::string& gpu : records.all("gpu"))
    plan.gpus.push_back(parse_gpu(gpu));
  if (!plan.cpus.empty() && plan.cpus.size() != plan.ranks.size())
    throw Error(ErrorKind::remote, "job plan: not every rank has its CPUs");
  const bool has_other_gpus = !plan.gpus.empty() && plan.gpus.size() != plan.ranks.size();
  if (has_other_gpus && !plan.starts_workers)
    throw Error(ErrorKind::remote, "job plan: not every rank has its GPU");
  if (plan.id.empty()) throw Error(ErrorKind::remote, "job plan: the id is empty");
  if (plan.argv.empty()) throw Error(ErrorKind::remote, "job plan: the command is empty");
  return plan;
}

}  // namespace fastgpu::agent
