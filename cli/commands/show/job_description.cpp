#include "cli/commands/show/job_description.hpp"

#include <span>
#include <string>

#include "base/counted.hpp"
#include "base/join.hpp"
#include "base/quote.hpp"
#include "cli/commands/show/description_parts.hpp"
#include "cli/workflows/end_work.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/name_folding.hpp"
#include "launcher/array.hpp"
#include "launcher/job.hpp"
#include "launcher/placement.hpp"
#include "launcher/process_names.hpp"
#include "launcher/users_command.hpp"
#include "state/model.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

using state::TimePoint;

std::string ranks_summary(const std::vector<launcher::NodeRanks>& placement) {
  return launcher::size_text(placement) + " on " + counted(placement.size(), "node");
}

/// Returns "sweep-3, index 7 of 20 jobs"; empty for a job by itself.
std::string array_text(const state::Job& job) {
  const auto& element = job.record->spec.array;
  if (!element) return {};
  return launcher::array_of(job.id) + ", index " + std::to_string(element->index) + " of " +
         counted(element->count, "job");
}

/// Returns the parameters of an element, without those that repeat a column by its number.
std::string parameters_text(const state::Job& job) {
  constexpr std::string_view kLine = "FASTGPU_PARAMETERS=";
  std::string named, line;
  if (!job.record->spec.array) return {};
  for (const std::string& variable : job.record->spec.array->variables) {
    if (variable.starts_with(kLine)) line = variable.substr(kLine.size());
    if (!variable.starts_with("FASTGPU_")) named += (named.empty() ? "" : ", ") + variable;
  }
  return named.empty() ? line : named;
}

/// Adds the part of a job whose nodes the engine chooses.
void put_engine(Json& description, const launcher::JobRecord& record) {
  const std::string engine(state::to_string(record.spec.engine));
  put_line(description, "engine", engine);
  put_line(description, "ranks", counted(launcher::total_ranks(record.placement), "rank"));
  put_line(description, "job of " + engine, record.engine_job.id);
  put_line(description, "nodes of " + engine, record.engine_job.nodes);
  if (record.spec.engine == launcher::EngineKind::slurm) {
    put_line(description, "partition", record.spec.slurm.partition);
    put_line(description, "submitted on", record.placement.front().node.value);
    return;
  }
  const launcher::KubernetesOptions& options = record.spec.kubernetes;
  put_line(description, "context", options.context);
  put_line(description, "namespace", options.name_space);
  put_line(description, "image", options.image);
}

/// Returns the GPUs in the order of their ranks, as the CPUs are shown: "0 3 2 1".
std::string gpus_text(std::span<const int> gpus) {
  std::string text;
  for (const int gpu : gpus)
    append_item(text, std::to_string(gpu), " ");
  return text;
}

/// Returns what a rank has for itself: "a GPU and cores beside it".
std::string unit_text(launcher::RankUnit unit) {
  switch (unit) {
    case launcher::RankUnit::none:
      return {};
    case launcher::RankUnit::core:
      return "a core";
    case launcher::RankUnit::numa:
      return "a NUMA node";
    case launcher::RankUnit::socket:
      return "a socket";
    case launcher::RankUnit::gpu:
      return "a GPU and cores beside it";
  }
  return {};
}

/// Adds what was requested for the job.
void put_wish(Json& description, const state::Job& job) {
  const launcher::JobRecord& record = *job.record;
  const launcher::JobSpec& spec = record.spec;
  put_line(description, "array", array_text(job));
  put_line(description, "parameters", parameters_text(job));
  put_line(description, "command", shell_join(launcher::users_command(spec.argv)));
  put_line(description, "environment", launcher::environment_in(spec.argv));
  put_line(description, "directory", spec.directory);
  put_line(description, "copied from", spec.sync);
  put_line(description, "variables", joined(record.variables));
  if (spec.timeout.count() > 0) description["timeout"] = to_string(spec.timeout);
  if (spec.hang_timeout.count() > 0) description["hang timeout"] = to_string(spec.hang_timeout);
  if (spec.retries > 0)
    description["restarts"] =
        std::to_string(record.restarts) + " of at most " + std::to_string(spec.retries);
  put_line(description, "checkpoints", spec.checkpoints);
  if (spec.presence == launcher::Presence::detached) description["detached"] = "yes";
  if (spec.engine != launcher::EngineKind::mpirun) return put_engine(description, record);
  const std::string noun = launcher::is_of_torchrun(record.placement) ? "workers" : "ranks";
  put_line(description, noun, ranks_summary(record.placement));
  Json table = Json::array();
  for (std::size_t i = 0; i < record.placement.size(); ++i) {
    const launcher::NodeRanks& ranks = record.placement[i];
    table.push_back(
        Json{{"node", ranks.node.value}, {noun, launcher::ranks_of_node(record.placement, i)}});
    if (!ranks.cpus.empty()) table.back()["cpus"] = joined(ranks.cpus, " ");
    if (!ranks.gpus.empty()) table.back()["gpus"] = gpus_text(ranks.gpus);
  }
  put_part(description, "nodes", std::move(table));
  if (spec.per != launcher::RankUnit::none && job.state == state::JobState::queued)
    description["each rank gets"] = unit_text(spec.per) + ", chosen when the job begins";
}

/// Returns what ended the job; empty if nothing bad has, or the record cannot be read.
std::string cause_text(const state::Job& job) try {
  const launcher::JobEndCause cause = job.record->cause;
  return cause == launcher::JobEndCause::none ? "" : std::string(state::to_string(cause));
} catch (const Error&) {
  return {};
}

/// Adds the rank that failed first, the nodes that were lost, and those whose disk was full.
void put_failure(Json& description, const state::Job& job) try {
  if (const auto& failure = job.record->failure) {
    Json section = Json::object();
    const bool is_torchrun = launcher::is_of_torchrun(job.record->placement);
    section[is_torchrun ? "process" : "rank"] =
        is_torchrun ? "torchrun" : std::to_string(failure->rank);
    put_line(section, "node", failure->node.value);
    if (failure->exit_code) section["exit code"] = std::to_string(*failure->exit_code);
    put_line(section, "signal", failure->signal);
    if (failure->out_of_memory) section["out of memory"] = "yes";
    put_line(section, "full disk", failure->full_disk);
    put_part(section, "last lines", Json(failure->last_lines));
    description["first failure"] = std::move(section);
  }
  std::string lost;
  for (const NodeName& node : job.record->lost_nodes)
    append_item(lost, node.value);
  put_line(description, "lost nodes", lost);
  Json table = Json::array();
  for (const state::FullDiskAt& disk : job.record->full_disks)
    table.push_back(Json{{"node", disk.node.value}, {"path", disk.path}});
  put_part(description, "full disks, whose logs are incomplete", std::move(table));
} catch (const Error&) {  // Another version of fastgpu wrote this.
  return;
}

/// Returns the name of the job's last run. An unreadable record is that of a job's first run.
std::string run_on_nodes(const state::Job& job) try {
  return launcher::run_name(job.id, job.record->restarts);
} catch (const Error&) {
  return job.id;
}

}  // namespace

std::string place_of_logs(const state::Job& job) {
  if (is_in_kubernetes(job)) return "in the pod of the launcher";
  const std::string place = "~/" + launcher::job_directory(run_on_nodes(job));
  try {
    std::vector<std::string> nodes;
    for (const launcher::NodeRanks& ranks : job.record->placement)
      nodes.push_back(ranks.node.value);
    return place + " on " + fold_names(nodes);
  } catch (const Error&) {  // Another version of fastgpu wrote this.
    return place;
  }
}

/// Returns whether the outputs are here; empty for a job without any.
std::string outputs_text(const state::Job& job) try {
  const state::Outputs outputs = job.record->outputs;
  return outputs == state::Outputs::none ? "" : std::string(state::to_string(outputs));
} catch (const Error&) {  // The record cannot be read.
  return {};
}

/// Returns true if the job ended before its nodes were prepared; false if the record cannot be
/// read.
bool never_began(const state::Job& job) try {
  return job.record->never_began;
} catch (const Error&) {
  return false;
}

Json description_of(const JobAndCluster& shown, const std::string& waits_for, TimePoint now) {
  const state::Job& job = shown.job;
  Json out;
  out["id"] = job.id;
  put_line(out, "cluster", shown.cluster);
  out["state"] = state_word(job);
  if (job.exit_code) out["exit code"] = std::to_string(*job.exit_code);
  put_line(out, "waits for", waits_for);
  put_line(out, "reason", job.reason);
  put_line(out, "cause", cause_text(job));
  put_failure(out, job);
  put_line(out, "outputs", outputs_text(job));
  if (const auto failures = work_not_done(job); !failures.empty())
    put_part(out, "not done", Json(failures));
  out["created"] = time_text(job.created, now);
  if (const auto started = state::recorded_start(job).started)
    out["started"] = time_text(*started, now);
  if (job.ended) out["ended"] = time_text(*job.ended, now);
  out["duration"] = to_string(std::chrono::milliseconds(duration_of(job, now)));
  try {
    put_wish(out, job);
  } catch (const Error&) {  // Another version of fastgpu wrote this.
  }
  if (!never_began(job)) out["logs"] = place_of_logs(job);
  return out;
}

}  // namespace fastgpu::cli
