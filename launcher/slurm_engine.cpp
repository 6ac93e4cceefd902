#include "launcher/slurm_engine.hpp"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/protocol/files.hpp"
#include "agent/protocol/job_folder.hpp"
#include "agent/protocol/plan.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/wait.hpp"
#include "launcher/engines/slurm.hpp"
#include "launcher/engines/slurm_batch.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/following.hpp"
#include "launcher/glance.hpp"
#include "launcher/job_files.hpp"
#include "launcher/linked_cancel.hpp"
#include "launcher/mpirun_engine.hpp"
#include "launcher/placement.hpp"
#include "launcher/slurm_script.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kSubmitTimeout{60'000};
constexpr milliseconds kSoon{5'000};
/// The time in which a batch script on the head reports its begin. Slurm is asked after it where
/// the script is, unless it has reported.
constexpr milliseconds kBeginOfScript{500};
/// The programs of Slurm wait about five seconds for a controller that is gone.
constexpr milliseconds kGlanceAtSlurm{15'000};
/// The time that Slurm needs to end a job, in addition to the grace of its programs.
constexpr std::chrono::seconds kSlurmToStop{20};

std::int64_t slurm_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Asks Slurm about a job in a thread of its own, reports to the observer why it waits, and writes
/// the end of the job where the follower of its logs reads it. Ends the following if Slurm cannot
/// be asked.
class SlurmWatch {
 public:
  /// Borrows all but `times` and `id`.
  SlurmWatch(ssh::Client& asking, const ssh::Host& head, const SlurmTimes& times, std::string id,
             LinkedCancel& following, JobObserver& observer)
      : asking_(asking),
        head_(head),
        times_(times),
        id_(std::move(id)),
        following_(following),
        observer_(observer),
        thread_([this] { ask_again_and_again(); }) {}
  ~SlurmWatch() { end(); }
  SlurmWatch(const SlurmWatch&) = delete;
  SlurmWatch& operator=(const SlurmWatch&) = delete;

  void end() {
    ended_.request();
    look_now();
    if (thread_.joinable()) thread_.join();
  }

  /// Waits for as long as the job may succeed before it asks Slurm, which then has nothing to say.
  void wait_longer() {
    const std::scoped_lock lock(mutex_);
    may_wait_ = true;
  }

  /// Begins to ask Slurm, if that has not begun.
  void look_now() {
    {
      const std::scoped_lock lock(mutex_);
      is_woken_ = true;
    }
    woken_.notify_all();
  }

  std::optional<SlurmJob> job() const {
    const std::scoped_lock lock(mutex_);
    return job_;
  }
  std::optional<Error> failure() const {
    const std::scoped_lock lock(mutex_);
    return failure_;
  }

 private:
  void ask_again_and_again() {
    {
      std::unique_lock lock(mutex_);
      const auto is_woken = [this] { return is_woken_; };
      const milliseconds first = std::min(times_.before_first_look, kBeginOfScript);
      woken_.wait_for(lock, first, is_woken);
      if (may_wait_) woken_.wait_for(lock, times_.before_first_look - first, is_woken);
    }
    for (SlurmLooks looks = kFirstLooks; !is_done_ && !ended_.requested(); looks = kLaterLooks)
      if (!look(looks)) wait_or_cancel(times_.before_next_try, ended_);
  }

  /// Returns false where a further look should wait.
  bool look(const SlurmLooks& looks) noexcept try {
    const NodeAnswer answer = await_slurm(asking_, head_, id_, looks, ended_);
    const bool goes_on = still_runs(answer);
    const auto seen = goes_on ? std::nullopt : slurm_job_in(answer);
    silent_since_.reset();
    if (goes_on && !answer.out.empty()) report_queue(parse_slurm_job(answer.out));
    if (!seen || seen->phase != SlurmPhase::ended) return goes_on;
    {
      const std::scoped_lock lock(mutex_);
      job_ = seen;
    }
    note_slurm_end(asking_, head_, id_, slurm_job_end(*seen, slurm_clock_ns()), ended_);
    is_done_ = true;
    return true;
  } catch (const Error& e) {
    take(e);
    return false;
  } catch (const std::exception& e) {
    fail(Error(ErrorKind::internal, e.what()));
    return false;
  }

  void report_queue(const SlurmJob& seen) {
    std::string reason = idle_reason(seen);
    if (reason == queue_) return;
    queue_ = std::move(reason);
    observer_.queued(id_, queue_);
  }

  void take(const Error& error) noexcept {
    if (ended_.requested()) return;
    if (!may_pass(error.kind())) return fail(error);
    const auto now = SteadyClock::now();
    if (!silent_since_) silent_since_ = now;
    if (now - *silent_since_ >= times_.controller_timeout) fail(error);
  }

  void fail(const Error& error) noexcept {
    is_done_ = true;
    {
      const std::scoped_lock lock(mutex_);
      failure_ = error;
    }
    following_.request();
  }

  ssh::Client& asking_;
  const ssh::Host& head_;
  SlurmTimes times_;
  std::string id_;
  LinkedCancel& following_;
  Cancel ended_;
  JobObserver& observer_;
  bool is_done_ = false;  ///< Used by the thread alone, as are silent_since_ and queue_.
  std::string queue_{};   ///< The reason that was last reported.
  std::optional<SteadyClock::time_point> silent_since_{};
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  bool is_woken_ = false;
  bool may_wait_ = false;
  std::optional<SlurmJob> job_{};
  std::optional<Error> failure_{};
  std::jthread thread_;  ///< The last member: the thread uses all others.
};

/// Submits jobs on the head. Ranks find their plan in their home directory, and write their logs
/// there: it is that of the head, or that of any node of `site`.
class SlurmEngine final : public JobEngine {
 public:
  SlurmEngine(ssh::Client& client, std::unique_ptr<ssh::Client> asking, SlurmSite site,
              RunnerOptions options, SlurmTimes times)
      : client_(client),
        asking_(std::move(asking)),
        head_(site.head),
        all_{std::move(site.head)},
        options_(std::move(options)),
        times_(times) {
    std::ranges::move(site.others, std::back_inserter(all_));
    on_nodes_ = make_mpirun_engine(client, all_, {}, options_);
  }

  /// Writes the job's files and its batch script on the head, and submits it. Files for nodes that
  /// share no home directory travel with the script. The engine's id is Slurm's number of the job.
  StartedRun start(const std::string& id, const JobRecord& job, const Cancel& cancel,
                   const std::function<void()>& when_prepared) override {
    const auto files = files_of(id, job, options_.owner());
    bool may_run = false;
    try {
      // The files of the user are copied to all nodes, since Slurm chooses later.
      if (!job.spec.sync.empty())
        put_files(id, std::span(all_).subspan(1), part_for_all_nodes(files), cancel);
      put_files(id, {&all_.front(), 1}, files, cancel);
      if (when_prepared) when_prepared();
      cancel.check();
      may_run = true;
      NodeAnswer answer = submit(id, cancel);
      if (is_unprepared(answer)) {
        put_files(id, all_, {}, cancel);
        put_files(id, {&all_.front(), 1}, {{kPreparedNodes, mark_of_nodes()}}, cancel);
        answer = submit(id, cancel);
      }
      if (const auto error = failure_of_call(answer)) {
        may_run = is_unclear(answer);
        throw error->during("submitting job " + id);
      }
      return {.engine_id = parse_sbatch(answer.out), .warning = warning_of_slurm(answer)};
    } catch (const Error& e) {
      // It may have been submitted by what then broke off.
      const bool is_stopped = stop(id, job).front().ok();
      if (may_run && !is_stopped) throw JobMayRun(e);
      throw;
    }
  }

  /// Asks Slurm by `sbatch --test-only`.
  JobTrial try_start(const JobRecord& job, const Cancel& cancel) override {
    files_of("trial", job, {});
    const std::string script = script_of(job.spec.name.value, job.spec, {});
    const NodeAnswer answer =
        ask(client_, {slurm_task(head_.host, {"test", ""}, script)}, kSubmitTimeout, cancel)
            .front();
    if (const auto error = failure_of_trial(answer)) throw Error(*error);
    return {.note = words_of_slurm(answer.out), .text = script};
  }

  JobGlance glance(const std::string& id, const JobRecord& job, Asking how) override {
    const Cancel never;
    const auto answer = ask_slurm(client_, head_.host, id, limit_of(how, kGlanceAtSlurm), never);
    if (!answer) return {.is_unknown = true};
    const SlurmJob& seen = *answer;
    if (seen.phase != SlurmPhase::ended) {
      return {.waits = seen.phase == SlurmPhase::waiting,
              .reason = idle_reason(seen),
              .nodes = seen.nodes,
              .engine_id = seen.id};
    }
    note_slurm_end(client_, head_.host, id, slurm_job_end(seen, slurm_clock_ns()), never);
    if (seen.state != "COMPLETED") forget_secrets(id);
    JobReport report = glance_at_nodes(client_, hosts(), spread(job), commands(id),
                                       limit_of(how, kSoon), anywhere({}));
    complete(report, job);
    return {.outcome = decide_slurm(std::move(report), seen), .nodes = seen.nodes};
  }

  JobOutcome follow(const std::string& id, const JobRecord& job, OnCancel on_cancel,
                    const FollowingOptions& options, JobObserver& observer,
                    const Cancel& cancel) override {
    LinkedCancel link(cancel);
    SlurmWatch watch(*asking_, head_.host, times_, id, link, observer);
    FollowingOptions with_watch = anywhere(options);
    with_watch.when_rank_fails = [&watch] { watch.look_now(); };
    with_watch.when_launcher_begins = [&watch] { watch.wait_longer(); };
    Following following(client_, hosts(), spread(job), commands(id), with_watch, observer);
    following.run(link.both());
    watch.end();
    JobReport seen = report_of(following, job);
    if (!seen.launcher && cancel.requested()) {
      if (on_cancel == OnCancel::leave_job)
        throw Error(ErrorKind::interrupted, "interrupted; job " + id + " is still running");
      const NodeAnswer stopped = cancel_in_slurm(id, job);
      if (!stopped.result.ok()) throw stopped.result.error().during("stopping job " + id);
      following.catch_up(kSoon);
      seen = report_of(following, job);
      seen.cancelled = true;
      SlurmJob end = forgotten_slurm_job();
      end.cleaning = nodes_that_slurm_cleans(stopped);
      return decide_slurm(std::move(seen), end);
    }
    if (const auto failure = watch.failure(); failure && !seen.launcher)
      throw failure->during("job " + id);
    if (!seen.launcher)
      throw Error(ErrorKind::transient,
                  "lost contact with " + head_.host.name.value + ": " +
                      (seen.lost.empty() ? "it does not answer" : seen.lost.front().why));
    auto end = watch.job();
    if (!end) end = job_in_record(*seen.launcher);
    if (!seen.launcher->how.ok()) forget_secrets(id, seen.ranks);
    look_for_agents_again(id, seen.launcher_tail);
    if (!end)  // Another fastgpu has seen the end first.
      end = ask_slurm(client_, head_.host, id, kSlurmAnswerTimeout, cancel);
    return decide_slurm(std::move(seen), end.value_or(forgotten_slurm_job()));
  }

  void await_end(const std::string& id, const JobRecord&, const Cancel& cancel) override {
    for (SlurmLooks looks = kFirstLooks; !cancel.requested(); looks = kLaterLooks) {
      const NodeAnswer answer = await_slurm(client_, head_.host, id, looks, cancel);
      if (!answer.result.ok()) throw answer.result.error().during("job " + id);
      if (!still_runs(answer)) return;
    }
  }

  std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord& job) override {
    return {cancel_in_slurm(id, job).result};
  }

  void logs(const std::string& id, const JobRecord& job, const LogRequest& request,
            JobObserver& observer, const Cancel& cancel) override {
    if (request.rank) require_rank(id, job.placement, *request.rank);
    FollowingOptions options = anywhere({});
    options.tail = request.tail;
    options.since = request.since;
    options.times = request.times;
    if (request.rank) options.ranks = std::set<int>{*request.rank};
    LinkedCancel link(cancel);
    Following following(client_, hosts(), spread(job), commands(id), options, observer);
    if (request.mode == LogMode::what_there_is) return following.read_all(cancel);
    SlurmWatch watch(*asking_, head_.host, times_, id, link, observer);
    following.run(link.both());
    watch.end();
    if (const auto failure = watch.failure()) throw Error(*failure);
  }

  std::vector<HostResult<ssh::Exit>> remove(const std::string& id, const JobRecord& job,
                                            const Cancel& cancel) override {
    return on_nodes_->remove(id, {.spec = job.spec, .placement = spread(job)}, cancel);
  }

 private:
  SlurmHome home() const { return all_.size() == 1 ? SlurmHome::shared : SlurmHome::separate; }

  std::string script_of(const std::string& id, const JobSpec& spec,
                        const std::string& comment) const {
    return slurm_batch_script(id, spec, commands(id).slurm_rank(home(), options_.retention), home(),
                              comment, commands(id).slurm_start(home()));
  }

  NodeTask put_task(const std::string& id, const ClusterNode& node,
                    const std::vector<agent::SmallFile>& files) const {
    return {.host = node.host,
            .command = commands(id).put_files(options_.retention),
            .input = encode_files(files)};
  }

  /// Writes files below ~/.fastgpu, and installs the agent where it is missing.
  void put_files(const std::string& id, std::span<const ClusterNode> nodes,
                 const std::vector<agent::SmallFile>& files, const Cancel& cancel) {
    std::vector<NodeTask> puts;
    for (const ClusterNode& node : nodes)
      puts.push_back(put_task(id, node, files));
    check(ask_agent(client_, puts, options_.agent, kSubmitTimeout, cancel), "preparing job " + id);
  }

  /// Lets the next job begin with a look for the agent on all nodes if a rank has missed it.
  void look_for_agents_again(const std::string& id, const std::string& said) {
    if (!remote::agent_missing(options_.agent.hash, {.status = 127}, said)) return;
    const Cancel never;
    ask(client_, {put_task(id, all_.front(), {{kPreparedNodes, ""}})}, kSoon, never, kSoon);
  }

  /// Submits the job, unless the nodes may lack the agent, which its ranks need.
  NodeAnswer submit(const std::string& id, const Cancel& cancel) {
    std::vector<std::string> words = {"submit", job_directory(id)};
    if (home() == SlurmHome::separate) words.push_back(mark_of_nodes());
    return ask(client_, {slurm_task(head_.host, words)}, kSubmitTimeout, cancel).front();
  }

  /// Returns the mark of this agent and these machines, by which the head knows that they have it.
  std::string mark_of_nodes() const {
    std::string text = options_.agent.hash.value;
    for (const ClusterNode& node : all_) {
      text += "\n" + node.host.name.value + " " + node.host.address;
      for (const std::string& key : node.host.host_keys)
        text += " " + key;
    }
    return transfer::sha256_hex(text);
  }

  std::vector<ssh::Host> hosts() const {
    std::vector<ssh::Host> hosts;
    for (const ClusterNode& node : all_)
      hosts.push_back(node.host);
    return hosts;
  }

  /// Returns where ranks may be: each on each node, since Slurm places them.
  std::vector<NodeRanks> spread(const JobRecord& job) const {
    std::vector<NodeRanks> places;
    for (const ClusterNode& node : all_) {
      places.push_back(job.placement.front());
      places.back().node = node.host.name;
    }
    return places;
  }

  FollowingOptions anywhere(FollowingOptions options) const {
    options.renew_lease = Renewal::no;  // Slurm keeps the job, whatever becomes of this machine.
    options.lost_after = options_.lost_after;
    options.anywhere = true;
    options.keeps_connections = true;  // The secrets on the nodes are removed right after the end.
    options.agent = options_.agent;
    return options;
  }

  static void complete(JobReport& report, const JobRecord& job) {
    report.placement = job.placement;
    report.timeout = job.spec.timeout;
  }

  static JobReport report_of(const Following& following, const JobRecord& job) {
    JobReport report = following.report();
    complete(report, job);
    return report;
  }

  /// Returns the files that make a job's folder. They have no secrets.
  static std::vector<agent::SmallFile> part_for_all_nodes(std::vector<agent::SmallFile> files) {
    std::erase_if(files, [](const agent::SmallFile& file) {
      const std::string name = std::filesystem::path(file.name).filename();
      return name != "rank" && name != agent::kJobOwner;
    });
    return files;
  }

  /// Cancels the job, and records that. The answer has the nodes on which Slurm is still ending it.
  NodeAnswer cancel_in_slurm(const std::string& id, const JobRecord& job) {
    const Cancel never;
    const auto limit = std::chrono::ceil<std::chrono::seconds>(job.spec.grace) + kSlurmToStop;
    NodeAnswer answer =
        ask(client_,
            {slurm_task(head_.host, {"cancel", job_directory(id), std::to_string(limit.count())})},
            limit + kSlurmAnswerTimeout, never)
            .front();
    if (const auto error = failure_of_call(answer)) {
      answer.result.outcome = *error;
      return answer;
    }
    const agent::JobEnd end{.how = {.code = 0, .signal = 15},
                            .ended = slurm_clock_ns(),
                            .cause = agent::StopCause::request,
                            .host = head_.host.name.value,
                            .reason = {}};
    try {
      note_slurm_end(client_, head_.host, id, end, never);
    } catch (const Error& e) {
      answer.result.outcome = e;
    }
    forget_secrets(id);
    return answer;
  }

  /// Removes the variables of a job that did not succeed from the nodes that have home directories
  /// of their own. The last of the `ended` ranks of a node has removed them there.
  void forget_secrets(const std::string& id, std::span<const agent::RankEnd> ended = {}) {
    if (all_.size() == 1) return;  // They go with the record of the end.
    const Cancel never;
    std::vector<NodeTask> tasks;
    for (const ClusterNode& node : all_) {
      const bool is_done = std::ranges::any_of(
          ended, [&](const agent::RankEnd& end) { return end.host == node.host.name.value; });
      if (!is_done) tasks.push_back(slurm_task(node.host, {"forget", job_directory(id)}));
    }
    if (!tasks.empty()) ask(client_, tasks, kSoon, never, kSoon);
  }

  std::vector<agent::SmallFile> files_of(const std::string& id, const JobRecord& job,
                                         const std::string& owner) const {
    validate(job.spec);
    const JobNode all{.ranks = job.placement.front(), .peer = head_.peer};
    const JobFilesRequest request{.id = id,
                                  .spec = job.spec,
                                  .nodes = {all},
                                  .access = {},
                                  .communicator_secret = Secret(random_hex(32)),
                                  .lease = milliseconds(0)};
    agent::JobPlan ranks = rank_plan(request, all);
    ranks.ranks_by_node.clear();  // Slurm places them.
    agent::JobPlan whole;  // It makes the directory one of a job, whose end `status` reports.
    whole.id = id;
    whole.argv = {"sbatch"};
    whole.grace = job.spec.grace;
    const std::string place = "jobs/" + id + "/";
    const std::vector<agent::SmallFile> plain = {{place + "rank", to_text(ranks)},
                                                 {place + agent::kJobOwner, owner}};
    std::vector<agent::SmallFile> for_ranks = {
        {place + agent::kVariables, agent::variables_text(slurm_rank_variables(job.spec))},
        {place + agent::kCommSecret, request.communicator_secret.reveal()}};
    for_ranks.insert(for_ranks.end(), plain.begin(), plain.end());
    std::vector<agent::SmallFile> files = for_ranks;
    if (home() == SlurmHome::separate) {
      files = plain;
      files.push_back({place + agent::kBatchFiles, agent::carried_files(for_ranks)});
    }
    files.push_back(
        {place + agent::kBatchScript, script_of(id, job.spec, "fastgpu-" + random_hex(16))});
    files.push_back({place + "spec", to_text(whole)});
    return files;
  }

  NodeCommands commands(const std::string& id) const { return {options_.agent.hash, id}; }

  ssh::Client& client_;
  std::unique_ptr<ssh::Client> asking_;
  ClusterNode head_;
  std::vector<ClusterNode> all_;  ///< The head is the first.
  RunnerOptions options_;
  SlurmTimes times_;
  std::unique_ptr<JobEngine> on_nodes_{};  ///< Removes files, as for mpirun's jobs.
};

}  // namespace

std::unique_ptr<JobEngine> make_slurm_engine(ssh::Client& client,
                                             std::unique_ptr<ssh::Client> asking, SlurmSite site,
                                             RunnerOptions options, SlurmTimes times) {
  return std::make_unique<SlurmEngine>(client, std::move(asking), std::move(site),
                                       std::move(options), times);
}

}  // namespace fastgpu::launcher
