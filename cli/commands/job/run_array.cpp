#include "cli/commands/job/run_array.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/counted.hpp"
#include "cli/commands/job/array_nodes.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/job_start.hpp"
#include "cli/commands/job/own_command.hpp"
#include "cli/commands/show/job_views.hpp"
#include "cli/program/app.hpp"
#include "cli/workflows/job_array.hpp"
#include "cli/workflows/job_end_watch.hpp"
#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/remote_target.hpp"
#include "config/document.hpp"
#include "launcher/queue.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

using state::JobState;
using SteadyTime = Clock::time_point;

/// Each job that runs has a process here.
constexpr std::size_t kMostAtOnce = 64;
constexpr std::size_t kMostParameterBytes = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kBetweenSteps{100};
constexpr std::chrono::milliseconds kBetweenPlaces{500};
constexpr std::chrono::seconds kBetweenGlances{3};

launcher::ParameterTable parameters_in(const std::string& path) {
  if (path == "-")
    throw Error(ErrorKind::usage,
                "run job: --parameters needs a file: standard input is not read for an array");
  const std::string text = config::read_text(path);
  if (text.size() > kMostParameterBytes)
    throw Error(ErrorKind::usage, path + " has more than 1 MiB of parameters");
  return launcher::parse_parameters(text, path);
}

/// One job of the array, as its runner sees it.
struct Element {
  std::string id;
  std::optional<process::Child> process{};
  bool has_begun = false;
  bool has_ended = false;
  bool is_queued = false;        ///< True if its process waited for its turn at the last look.
  int restarts = 0;              ///< The number of its restarts at the last look.
  std::set<std::string> told{};  ///< The reasons for waiting that the user has seen.
  std::string why{};             ///< How the process that ran it has ended.
  SteadyTime ask_at{};           ///< When its nodes are asked, once it has no process here.
};

class ArrayRunner {
 public:
  ArrayRunner(Context& context, const RemoteTarget& target, const ArrayRun& run,
              RecordedArray& array)
      : context_(context),
        target_(target),
        run_(run),
        array_(array),
        nodes_(context, target, array.id),
        ends_(context) {
    for (const std::string& id : array.jobs)
      elements_.push_back({.id = id});
  }

  void run() {
    while (!std::ranges::all_of(elements_, &Element::has_ended)) {
      if (context_.cancel().requested()) cancel();
      std::vector<state::Job> without_process;
      may_have_ended_ = ends_.take_ends();
      for (Element& element : elements_)
        if (element.has_begun && !element.has_ended) look_at(element, without_process);
      ends_.watch(without_process);
      look_at_records();
      if (!is_cancelled_) begin_next();
      show_progress();
      pause();
    }
    context_.ui().end_progress();
    nodes_.tell_missing();
  }

 private:
  /// Looks at the jobs whose processes run, at most twice a second: a job may wait for its turn, or
  /// to be started again, and only its record says so.
  void look_at_records() {
    const auto now = context_.clock().now();
    if (now < records_at_) return;
    records_at_ = now + kBetweenPlaces;
    for (Element& element : elements_) {
      element.is_queued = false;
      if (!element.process) continue;
      const auto job = context_.store().find_job(element.id);
      if (!job) continue;
      nodes_.note(*job);  // The end of a job is on record before that of its process.
      if (launcher::has_ended(*job)) continue;
      element.is_queued = job->state == JobState::queued;
      tell_restart(element, *job);
    }
  }

  /// Tells once why a job is started again, or, if that was too short to be seen, that it was.
  void tell_restart(Element& element, const state::Job& job) try {
    const int restarts = job.record->restarts;
    if (!job.reason.empty()) {
      if (element.told.insert(job.reason).second)
        context_.ui().warn("job " + job.id + " " + job.reason);
    } else if (restarts > element.restarts && element.told.empty()) {
      context_.ui().note("job " + job.id + " was started again, " + std::to_string(restarts) +
                         " of " + std::to_string(job.record->spec.retries));
    }
    if (restarts > element.restarts) element.told.clear();
    element.restarts = restarts;
  } catch (const Error&) {  // The record cannot be read.
    return;
  }

  std::size_t active() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        elements_, [](const Element& one) { return one.has_begun && !one.has_ended; }));
  }

  /// Returns true if a process still waits for the turn of its job.
  bool is_one_waiting() {
    return std::ranges::any_of(elements_, [&](const Element& one) {
      if (!one.has_begun || one.has_ended || !one.process) return false;
      const auto job = context_.store().find_job(one.id);
      return job && job->state == JobState::queued;
    });
  }

  /// Starts the process of the next job if it may run: one at a time waits in the queue, so that
  /// each is placed where slots are free.
  void begin_next() {
    const auto next = std::ranges::find_if(
        elements_, [](const Element& one) { return !one.has_begun && !one.has_ended; });
    if (next == elements_.end() || active() >= run_.plan.limit || is_one_waiting()) return;
    auto job = context_.store().find_job(next->id);
    if (!job || launcher::has_ended(*job)) {
      end(*next, job);
      return;
    }
    if (active() > 0 && !has_place()) return;
    const launcher::Turn turn = turn_now(context_, *job);
    if (!turn.never.empty()) {
      finish(*job, JobState::cancelled, 1, turn.never);
      end(*next, job);
      return;
    }
    next->has_begun = true;
    next->process.emplace(start_for_element(next->id, run_.job_file, nodes_.lost_names()));
  }

  /// Returns true if another job fits on free slots. Looks at most twice a second.
  bool has_place() {
    const auto now = context_.clock().now();
    if (now < place_at_) return false;
    place_at_ = now + kBetweenPlaces;
    records_at_ = {};
    look_at_records();  // A node that was lost just now has no place.
    return launcher::fits_now(slots_of(nodes_.usable()), context_.store().jobs(), run_.record.spec);
  }

  /// Adds the job to `without_process` if its process here has ended, and the job goes on.
  void look_at(Element& element, std::vector<state::Job>& without_process) {
    std::optional<process::ExitStatus> how;
    if (element.process) {
      how = element.process->poll();
      if (!how) return;
      element.process.reset();
      place_at_ = {};
    }
    auto job = context_.store().find_job(element.id);
    if (job && !launcher::has_ended(*job)) settle(element, *job, how);
    if (!job || launcher::has_ended(*job))
      end(element, job);
    else
      without_process.push_back(std::move(*job));
  }

  /// Brings the record of a job without a process up to date.
  void settle(Element& element, state::Job& job, const std::optional<process::ExitStatus>& how) {
    const bool is_detached = run_.record.spec.presence == launcher::Presence::detached;
    if (how) element.why = describe(*how);
    const std::string why =
        "the process that runs it: " + (element.why.empty() ? "it has gone" : element.why);
    if (job.state == JobState::queued) return finish(job, JobState::failed, 1, why);
    const bool is_time = context_.clock().now() >= element.ask_at;
    if (!is_time && !may_have_ended_.contains(element.id)) return;
    element.ask_at = context_.clock().now() + kBetweenGlances;
    try {
      job = refresh_job(context_, job);
      const bool is_starting = job.state == JobState::starting;
      if ((is_detached && !is_starting) || launcher::has_ended(job)) return;
      for (const auto& outcome :
           engine_for(context_, target_.cluster, *job.record)
               ->stop(launcher::run_name(job.id, job.record->restarts), *job.record))
        if (!outcome.ok()) return;  // Asked again.
      if (is_starting)
        finish(job, JobState::failed, 1, job.reason.empty() ? why : job.reason);
      else
        finish(job, JobState::lost, 1, "the fastgpu that ran it was ended");
    } catch (const Error&) {
      return;  // Its nodes do not answer now.
    }
  }

  void finish(state::Job& job, JobState how, int code, const std::string& why) {
    launcher::mark_ended(context_.store(), job, {.state = how, .exit_code = code, .reason = why});
  }

  void end(Element& element, const std::optional<state::Job>& job) {
    element.has_begun = element.has_ended = true;
    if (job) nodes_.note(*job);
    if (!job || !context_.ui().for_people()) return;
    if (job->state == JobState::succeeded && job->reason.empty())
      context_.ui().note("job " + job->id + " succeeded");
    else
      show_ended(context_, *job, target_.cluster.name.value);
  }

  /// Ends all jobs; detached ones that run already go on.
  void cancel() {
    if (is_cancelled_) return;
    is_cancelled_ = true;
    context_.store().atomically([&] {
      for (const Element& element : elements_) {
        if (element.has_begun) continue;
        auto job = context_.store().find_job(element.id);
        if (job && !launcher::has_ended(*job))
          finish(*job, JobState::cancelled, 130, "cancelled before its turn");
      }
    });
    for (Element& element : elements_) {
      if (!element.has_begun) element.has_ended = true;
      if (element.process) element.process->signal(SIGINT);
      const bool goes_on = element.has_begun && !element.process;
      if (goes_on) element.has_ended = true;
    }
  }

  void show_progress() {
    const auto ended =
        static_cast<std::size_t>(std::ranges::count_if(elements_, &Element::has_ended));
    const auto queued = static_cast<std::size_t>(std::ranges::count_if(
        elements_, [](const Element& one) { return one.is_queued && !one.has_ended; }));
    const std::size_t running = active() - queued;
    context_.ui().progress("array " + array_.id + ": " + std::to_string(running) + " running, " +
                           std::to_string(elements_.size() - running - ended) + " waiting, " +
                           std::to_string(ended) + " ended");
  }

  void pause() const {
    pollfd fd{is_cancelled_ ? -1 : context_.cancel().fd(), POLLIN, 0};
    ::poll(&fd, 1, static_cast<int>(kBetweenSteps.count()));
  }

  Context& context_;
  const RemoteTarget& target_;
  const ArrayRun& run_;
  RecordedArray& array_;
  ArrayNodes nodes_;
  std::vector<Element> elements_;
  SteadyTime place_at_{};
  SteadyTime records_at_{};
  JobEndWatch ends_;                        ///< The ends of jobs without a process here.
  std::set<std::string> may_have_ended_{};  ///< The jobs of which it has heard in this step.
  bool is_cancelled_ = false;
};

/// Shows all jobs of the array. Returns the exit code.
int show_array(Context& context, const RecordedArray& array, const std::string& cluster) {
  int code = 0;
  std::vector<JobAndCluster> shown;
  for (const std::string& id : array.jobs) {
    const auto job = context.store().find_job(id);
    if (!job) continue;
    if (code == 0) code = job->exit_code.value_or(launcher::has_ended(*job) ? 1 : 0);
    shown.push_back({*job, cluster});
  }
  if (!context.ui().for_people())
    context.ui().show(view_of(shown, std::chrono::system_clock::now()));
  return code;
}

}  // namespace

void describe_array(Arguments& arguments, ArrayFlags& flags) {
  arguments.text("--array", "RANGE[%LIMIT]",
                 "Run a job for each index, at most LIMIT at once [1-20%4]", flags.range);
  arguments
      .text("--parameters", "FILE", "Run a job for each line, whose columns are variables",
            flags.parameters)
      .values = Values::path;
}

bool wants_array(const ArrayFlags& flags, const launcher::JobFile& file) {
  return !flags.range.empty() || !flags.parameters.empty() || file.array || file.parameters;
}

std::optional<ArrayPlan> array_plan(const ArrayFlags& flags, const launcher::JobFile& file) {
  if (!wants_array(flags, file)) return std::nullopt;
  std::optional<launcher::ArrayRange> range;
  const std::string text = flags.range.empty() ? file.array.value_or("") : flags.range;
  if (!text.empty()) range = launcher::parse_array_range(text);
  std::optional<launcher::ParameterTable> parameters;
  const std::string path =
      flags.parameters.empty() ? file.parameters.value_or("") : flags.parameters;
  if (!path.empty()) parameters = parameters_in(path);
  ArrayPlan plan{.elements = launcher::array_elements(range, parameters), .limit = kMostAtOnce};
  if (range && range->limit)
    plan.limit = std::min(plan.limit, static_cast<std::size_t>(*range->limit));
  return plan;
}

int run_array(Context& context, const RemoteTarget& target, const ArrayRun& run) {
  RecordedArray array = record_array(context, target.cluster.id, run.record, run.plan.elements);
  context.set_job(array.id);
  if (run.is_in_background) report_and_leave(context, array.id);
  context.ui().note("array " + array.id + ": " + counted(run.plan.elements.size(), "job") +
                    ", at most " + std::to_string(run.plan.limit) + " at once");
  context.set_stop_notice("stopping array " + array.id +
                          "; press Ctrl-C again to exit at once (its jobs then stop on their own)");
  context.set_interrupt_hint(words_for_parting("array", array.id, run.record.spec.grace));
  ArrayRunner(context, target, run, array).run();
  const int code = show_array(context, array, target.cluster.name.value);
  return context.cancel().requested() ? exit_code(ErrorKind::interrupted) : code;
}

int show_detached_array(Context& context, const std::string& id) {
  if (!context.ui().for_people()) {
    std::vector<JobAndCluster> shown;
    for (const state::Job& job : find_jobs(context, id)) {
      const auto cluster = context.store().find_cluster(job.cluster);
      shown.push_back({job, cluster ? cluster->name.value : ""});
    }
    context.ui().show(view_of(shown, std::chrono::system_clock::now()));
    return 0;
  }
  context.ui().data(id + "\n");
  context.ui().next_steps(
      {"fastgpu get jobs " + id, "fastgpu wait job " + id, "fastgpu cancel job " + id});
  return 0;
}

void fail_element(Context& context, const std::string& id, const Error& error) {
  auto job = context.store().find_job(id);
  if (!job) return;
  const bool is_stopped = error.kind() == ErrorKind::interrupted;
  launcher::mark_ended(context.store(), *job,
                       {.state = is_stopped ? JobState::cancelled : JobState::failed,
                        .exit_code = exit_code(error.kind()),
                        .reason = error.what()});
}

}  // namespace fastgpu::cli
