#include "cli/commands/show/job_views.hpp"

#include "base/error.hpp"
#include "base/join.hpp"
#include "base/quote.hpp"
#include "base/time_text.hpp"
#include "base/units.hpp"
#include "cli/commands/show/field_values.hpp"
#include "cli/workflows/name_folding.hpp"
#include "launcher/job_times.hpp"
#include "launcher/process_names.hpp"
#include "launcher/users_command.hpp"
#include "state/record_text.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {

namespace {

std::string exit_word(const std::optional<int>& code) {
  return code ? std::to_string(*code) : "";
}

/// Returns the first rank that failed; null if none has, or the record cannot be read.
Json failure_of_ranks(const state::Job& job) try {
  const auto& failure = job.record->failure;
  if (!failure) return nullptr;
  const bool is_torchrun = launcher::is_of_torchrun(job.record->placement);
  return {{"rank", failure->rank},
          {"process", is_torchrun ? "torchrun" : "rank"},
          {"node", failure->node.value},
          {"exit_code", failure->exit_code ? Json(*failure->exit_code) : Json()},
          {"signal", word_or_null(failure->signal)},
          {"out_of_memory", failure->out_of_memory},
          {"full_disk", word_or_null(failure->full_disk)},
          {"last_lines", failure->last_lines}};
} catch (const Error&) {
  return nullptr;
}

/// Adds the nodes whose loss ended the job, and those whose disk was full.
void put_bad_nodes(Json& out, const state::Job& job) try {
  for (const NodeName& node : job.record->lost_nodes)
    out["lost_nodes"].push_back(node.value);
  for (const state::FullDiskAt& disk : job.record->full_disks)
    out["full_disks"].push_back({{"node", disk.node.value}, {"path", disk.path}});
} catch (const Error&) {  // The record cannot be read.
  return;
}

/// Returns what ended the job; null if nothing bad has.
Json end_cause_word(const state::Job& job) try {
  const state::JobEndCause cause = job.record->cause;
  return cause == state::JobEndCause::none ? Json() : Json(state::to_string(cause));
} catch (const Error&) {
  return nullptr;
}

/// Adds what is known of a bad end. The record of a job without one is not read, which takes most
/// of the time with thousands of jobs.
void put_end(Json& out, const state::Job& job) {
  const bool has_end = state::may_have_bad_end(job);
  out["failure"] = has_end ? failure_of_ranks(job) : Json();
  out["cause"] = has_end ? end_cause_word(job) : Json();
  out["lost_nodes"] = Json::array();
  out["full_disks"] = Json::array();
  if (has_end) put_bad_nodes(out, job);
}

}  // namespace

std::string_view state_word(const state::Job& job) try {
  const bool is_in_slurm = job.state == state::JobState::starting &&
                           job.record->spec.engine == state::EngineKind::slurm &&
                           !job.record->engine_job.id.empty();
  return state::to_string(is_in_slurm ? state::JobState::queued : job.state);
} catch (const Error&) {  // The record cannot be read.
  return state::to_string(job.state);
}

Json to_json(const state::Job& job) {
  Json out;
  out["id"] = job.id;
  out["state"] = state_word(job);
  out["exit_code"] = job.exit_code ? Json(*job.exit_code) : Json(nullptr);
  out["reason"] = job.reason;
  put_end(out, job);
  out["created"] = utc_text(job.created);
  const auto started = state::recorded_start(job).started;
  out["started"] = started ? Json(utc_text(*started)) : Json(nullptr);
  out["ended"] = job.ended ? Json(utc_text(*job.ended)) : Json(nullptr);
  out["spec"] = embedded(state::record_text_of(job));
  return out;
}

std::chrono::seconds duration_of(const state::Job& job, state::TimePoint now) {
  return std::chrono::duration_cast<std::chrono::seconds>(
      launcher::run_time_of(launcher::course_of(job), now));
}

namespace {

launcher::JobCourse course_of(const state::JobLine& line) {
  return {.state = line.state,
          .created = line.created,
          .ended = line.ended,
          .start = line.request ? line.request->start : state::RecordedStart()};
}

/// Returns the duration of the job; empty for one that has not started.
std::string duration_cell(const state::JobLine& line, state::TimePoint now) {
  if (!launcher::beginning_of(course_of(line))) return {};
  const auto seconds =
      std::chrono::floor<std::chrono::seconds>(launcher::run_time_of(course_of(line), now));
  return to_string(std::chrono::milliseconds(seconds));
}

/// Returns why the job ended, or what it waits for.
std::string reason_cell(const JobRow& job) {
  std::string text = job.waits_for.empty() ? "" : "waits for " + job.waits_for;
  if (!job.line.reason.empty()) append_item(text, job.line.reason, "; ");
  return text;
}

std::optional<state::ListedRequest> request_in(const state::Job& job) try {
  return state::listed_request(*job.record);
} catch (const Error&) {  // Another version of fastgpu wrote this.
  return std::nullopt;
}

Json item_of(const JobAndCluster& shown, state::TimePoint now) {
  Json item = cli::to_json(shown.job);
  item["cluster"] = shown.cluster;
  item["duration_seconds"] = cli::duration_of(shown.job, now).count();
  if (shown.turn) item["waits_for"] = shown.turn->waits_for;
  return item;
}

}  // namespace

JobRow row_of(const JobAndCluster& shown) {
  const state::Job& job = shown.job;
  return {.line = {.id = job.id,
                   .cluster = job.cluster,
                   .state = job.state,
                   .exit_code = job.exit_code,
                   .reason = job.reason,
                   .created = job.created,
                   .ended = job.ended,
                   .request = request_in(job)},
          .state = state_word(job),
          .cluster = shown.cluster,
          .waits_for = shown.turn ? words_for(*shown.turn) : ""};
}

JobTable::JobTable(state::TimePoint now, JobColumns columns) : now_(now), columns_(columns) {
  view_.when_empty = "no jobs; run one: fastgpu run job --cluster demo -np 2 -- hostname";
  view_.root = document("jobs");
  view_.root["jobs"] = Json::array();
  view_.table.columns = {{"JOB"}, {"CLUSTER"}, {"STATE"}, {"EXIT"}, {"AGE", false, Fit::optional}};
  if (columns == JobColumns::usual) return;
  for (Column column : {Column{"DURATION", true}, Column{"RANKS", true}, Column{"NODES", true},
                        Column{"PRIORITY", true}, Column{"ENVIRONMENT", true},
                        Column{"COMMAND", true, Fit::prose}, Column{"REASON", true, Fit::prose}})
    view_.table.columns.push_back(std::move(column));
}

void JobTable::add(const JobRow& job) {
  view_.names.push_back(job.line.id);
  view_.table.rows.push_back(cells_of(job));
}

void JobTable::replace(std::size_t index, const JobRow& job) {
  view_.table.rows[index] = cells_of(job);
}

std::vector<Cell> JobTable::cells_of(const JobRow& job) {
  const state::JobLine& line = job.line;
  std::vector<Cell> row;
  row.reserve(view_.table.columns.size());
  row.emplace_back(line.id);
  row.emplace_back(job.cluster);
  row.push_back(state_cell(job.state));
  row.emplace_back(exit_word(line.exit_code));
  row.emplace_back(age(line.created, now_));
  if (columns_ == JobColumns::usual) return row;
  row.emplace_back(duration_cell(line, now_));
  if (line.request) {
    row.emplace_back(std::to_string(line.request->ranks));
    row.emplace_back(nodes_of(*line.request));
    row.emplace_back(std::to_string(line.request->priority));
    row.emplace_back(launcher::environment_in(line.request->argv));
    row.emplace_back(shell_join(launcher::users_command(line.request->argv)));
  } else {  // Another version of fastgpu wrote this.
    row.insert(row.end(), 5, Cell(""));
  }
  row.emplace_back(reason_cell(job));
  return row;
}

const std::string& JobTable::nodes_of(const state::ListedRequest& request) {
  if (request.engine != state::EngineKind::mpirun) return request.engine_nodes;
  if (names_ != request.nodes) {
    names_ = request.nodes;
    folded_ = fold_names(names_);
  }
  return folded_;
}

View view_of(std::span<const JobAndCluster> jobs, state::TimePoint now, ViewParts parts) {
  JobTable table(now, JobColumns::all);
  if (parts == ViewParts::all)
    for (const JobAndCluster& shown : jobs)
      table.add(row_of(shown));
  View view = std::move(table).take();
  for (const JobAndCluster& shown : jobs)
    view.root["jobs"].push_back(item_of(shown, now));
  return view;
}

}  // namespace fastgpu::cli
