#include "launcher/kubernetes_engine.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/protocol/plan.hpp"
#include "agent/protocol/status.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/secret_text.hpp"
#include "base/shown_line.hpp"
#include "base/split.hpp"
#include "base/time_text.hpp"
#include "base/units.hpp"
#include "base/wait.hpp"
#include "launcher/engines/mpijob.hpp"
#include "launcher/kubernetes/log_lines.hpp"
#include "launcher/linked_cancel.hpp"
#include "launcher/placement.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kGlanceAtServer{5'000};
constexpr milliseconds kLastWordsAtServer{30'000};
constexpr milliseconds kStopAtServer{30'000};

/// Returns the result of a call for "kubernetes" as a whole.
HostResult<ssh::Exit> result_of(const Outcome<void>& outcome) {
  HostResult<ssh::Exit> result{{"kubernetes"}, ssh::Exit{}};
  if (!outcome.ok()) result.outcome = outcome.error();
  return result;
}

/// The server's view of a job.
struct SeenMpiJob {
  std::optional<MpiJobState> job{};  ///< Absent if the MPIJob is gone.
  std::optional<LauncherPod> pod{};
  bool is_foreign = false;  ///< The name is that of an MPIJob that is not ours.
};

/// Writes the times as our clock would have shown them. `offset` is how far the server's is ahead:
/// the clocks in a cluster agree with each other.
void put_on_our_clock(SeenMpiJob& seen, std::chrono::seconds offset) {
  const auto put = [&](std::optional<state::TimePoint>& time) {
    if (time) *time -= offset;
  };
  put(seen.job->started);
  put(seen.job->ended);
  if (!seen.pod) return;
  put(seen.pod->started);
  put(seen.pod->ended);
}

/// Returns the outcome of a job without an MPIJob, which began then as far as it was seen. One
/// whose start was unclear has no name in the engine.
JobOutcome gone_outcome(const JobRecord& job, const SeenMpiJob& seen, const std::string& place,
                        std::optional<state::TimePoint> began = {}) {
  const bool is_unclear = job.engine_job.id.empty();
  std::string reason = is_unclear ? "Kubernetes has no such MPIJob: its creation has not succeeded"
                                  : "the MPIJob is gone: it was deleted in Kubernetes";
  if (seen.is_foreign)
    reason = "MPIJob " + place + " is not of this job, and is left alone: the job's own " +
             (is_unclear ? "was not created" : "was deleted in Kubernetes");
  return {
      .state = state::JobState::lost, .exit_code = 1, .reason = std::move(reason), .began = began};
}

bool has_finished(const SeenMpiJob& seen) {
  return !seen.job || seen.job->phase == MpiJobPhase::succeeded ||
         seen.job->phase == MpiJobPhase::failed;
}

/// When the server and the log stopped to answer. Absent while they do.
struct Outage {
  std::optional<SteadyClock::time_point> server{};
  std::optional<SteadyClock::time_point> log{};
};

bool is_silence(const Error& e) {
  return e.kind() == ErrorKind::transient || e.kind() == ErrorKind::timeout;
}

/// Returns how long an outage has lasted since `start`, which is set if it begins now. The observer
/// hears of it once.
milliseconds prolong(Outage& outage, std::optional<SteadyClock::time_point> Outage::*start,
                     JobObserver& observer, const Error& e) {
  const auto now = SteadyClock::now();
  if (!outage.server && !outage.log) observer.connection_lost({"kubernetes"}, e);
  if (!(outage.*start)) outage.*start = now;
  return std::chrono::duration_cast<milliseconds>(now - *(outage.*start));
}

/// Reads the log of the launcher's pod, from where the last reading ended.
class PodLogReader {
 public:
  PodLogReader(KubernetesApi& api, const JobRecord& job, const LogRequest& request,
               JobObserver& observer)
      : api_(api),
        request_(request),
        log_(total_ranks(job.placement),
             [this, &observer](const PodLine& line) { pass_on(line, observer); }) {}

  /// Reads what there is, or follows until the stream ends. Throws transient if it breaks; the next
  /// call continues.
  void read(const std::string& pod, LogMode mode, bool has_ended, const Cancel& cancel) {
    if (pod != pod_) seen_any_ = false;
    pod_ = pod;
    const auto last = log_.last_time();
    // The server compares whole seconds.
    const std::string since =
        last ? utc_text(std::chrono::system_clock::time_point(
                   std::chrono::duration_cast<std::chrono::system_clock::duration>(
                       std::chrono::nanoseconds(*last))))
             : "";
    std::optional<long> seconds;
    if (request_.since) seconds = std::chrono::ceil<std::chrono::seconds>(*request_.since).count();
    std::optional<std::uint64_t> tail;
    if (request_.tail && !seen_any_) tail = request_.tail->lines;
    const std::string path =
        pod_log_path(api_.access().name_space, pod, mode == LogMode::follow, since, seconds, tail);
    try {
      api_.stream(
          path,
          [this](std::string_view bytes) {
            bytes_ += bytes.size();
            log_.take(bytes);
          },
          cancel);
    } catch (const Error&) {
      log_.end(false);
      throw;
    }
    seen_any_ = true;
    log_.end(has_ended);
  }

  /// Returns how much the server has sent.
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  void pass_on(const PodLine& line, JobObserver& observer) const {
    if (request_.rank && line.rank != *request_.rank) return;
    if (request_.times) observer.written_at(line.rank, line.stream, line.time);
    observer.output(line.rank, line.stream, line.text);
  }

  KubernetesApi& api_;
  LogRequest request_;
  PodLog log_;
  std::string pod_;
  std::uint64_t bytes_ = 0;
  bool seen_any_ = false;
};

/// Keeps the last words of mpirun, and the last lines of each rank.
class LastWords final : public JobObserver {
 public:
  void output(int rank, agent::OutputStream, std::string_view bytes) override {
    std::string& text = rank == agent::kLauncherRank ? mpirun_ : ranks_[rank];
    text += bytes;
    if (text.size() > 2 * kMost) text.erase(0, text.size() - kMost);
  }

  const std::string& of_mpirun() const noexcept { return mpirun_; }

  std::vector<std::string> lines_of(int rank, const std::vector<std::string>& secrets) {
    std::vector<std::string> lines;
    for (const std::string_view line : split_lines(ranks_[rank])) {
      std::string text =
          cut_to(without_secrets(shown_line(line), secrets), agent::kLongestLastLine);
      if (!trimmed(text, " \t\r").empty()) lines.push_back(std::move(text));
    }
    if (lines.size() > agent::kMostLastLines)
      lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(agent::kMostLastLines));
    return lines;
  }

 private:
  static constexpr std::size_t kMost = 16UL << 10U;
  std::string mpirun_;
  std::map<int, std::string> ranks_;
};

/// Runs jobs in one namespace. The log of the launcher's pod is that of all ranks: mpirun tags
/// their lines.
class KubernetesEngine final : public JobEngine {
 public:
  KubernetesEngine(std::unique_ptr<http::Client> client, KubernetesAccess access,
                   KubernetesTimes times)
      : client_(std::move(client)),
        api_(*client_, std::move(access), times.backoff),
        times_(times) {}

  /// Creates the MPIJob, whose name is the id. Does not call `when_prepared`: pods have no
  /// directory of the job.
  StartedRun start(const std::string& id, const JobRecord& job, const Cancel& cancel,
                   const std::function<void()>&) override {
    validate(job.spec);
    const std::string key = job.engine_job.key.empty() ? random_hex(16) : job.engine_job.key;
    const auto manifest = mpijob_manifest(id, job.spec, api_.access().name_space, key);
    try {
      api_.create(mpijobs_path(api_.access().name_space), manifest, key, cancel);
    } catch (const UnclearCreation& e) {
      if (!is_undone(id, key)) throw JobMayRun(e);
      throw;
    }
    return {.engine_id = id};
  }

  /// Lets the server check the MPIJob. The text is the manifest as JSON.
  JobTrial try_start(const JobRecord& job, const Cancel& cancel) override {
    validate(job.spec);
    const std::string name = job.spec.name.value;
    const auto manifest = mpijob_manifest(name, job.spec, api_.access().name_space, "trial");
    api_.try_create(mpijobs_path(api_.access().name_space), manifest, cancel);
    return {.note = "the API server of context " + api_.access().context + " accepts the job",
            .text = manifest.dump()};
  }

  JobGlance glance(const std::string& id, const JobRecord& job, Asking how) override {
    const Cancel never;
    const milliseconds longest = limit_of(how, kGlanceAtServer);
    const LinkedCancel limit(never, longest);
    SeenMpiJob seen;
    try {
      seen = look(id, job, limit.both());
    } catch (const Error& e) {
      if (!limit.timed_out()) throw;
      throw silence_after(longest);
    }
    // The request that creates a job without a name in the engine may still be on its way.
    if (!seen.job && !seen.is_foreign && job.engine_job.id.empty()) return {.is_unknown = true};
    if (!seen.job) return {.outcome = gone_outcome(job, seen, place_of(id))};
    if (has_finished(seen)) return {.outcome = outcome_of(id, job, seen, limit.both())};
    const bool waits = seen.job->phase == MpiJobPhase::waiting;
    const std::string why =
        seen.pod && !seen.pod->reason.empty() ? " (" + seen.pod->reason + ")" : "";
    return {.began = seen.pod ? seen.pod->started : std::nullopt,
            .waits = waits,
            .reason = waits ? "waits for its pods" + why : "",
            .nodes = seen.pod ? seen.pod->node : "",
            .engine_id = id};
  }

  JobOutcome follow(const std::string& id, const JobRecord& job, OnCancel on_cancel,
                    const FollowingOptions& options, JobObserver& observer,
                    const Cancel& cancel) override {
    PodLogReader reader(
        api_, job,
        {.rank = {}, .tail = options.tail, .since = options.since, .times = options.times},
        observer);
    Outage outage;
    std::optional<state::TimePoint> began;  // As far as it has been seen.
    while (!cancel.requested()) {
      try {
        const auto seen = look_patiently(id, job, outage, observer, cancel);
        if (seen && seen->pod && seen->pod->started) began = seen->pod->started;
        const bool is_over = seen && has_finished(*seen);
        const auto mode = is_over ? LogMode::what_there_is : LogMode::follow;
        const bool is_read =
            !seen || !options.data || read_log(reader, *seen, mode, outage, observer, cancel);
        if (is_over && is_read)
          return seen->job ? outcome_of_ended(id, job, *seen, cancel)
                           : gone_outcome(job, *seen, place_of(id), began);
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::interrupted) throw;
        break;
      }
      wait_or_cancel(times_.between_questions, cancel);
    }
    if (on_cancel == OnCancel::leave_job)
      throw Error(ErrorKind::interrupted, "interrupted; job " + id + " is still running");
    for (const auto& stopped : stop(id, job))
      if (!stopped.ok()) throw stopped.error().during("stopping job " + id);
    return {.state = state::JobState::cancelled,
            .exit_code = 130,
            .reason = "cancelled",
            .began = began};
  }

  void await_end(const std::string& id, const JobRecord& job, const Cancel& cancel) override {
    while (!cancel.requested()) {
      const SeenMpiJob seen = look(id, job, cancel);
      if (!seen.job || has_finished(seen)) return;
      wait_or_cancel(times_.between_questions, cancel);
    }
  }

  /// Deletes the MPIJob, and with it its pods and their logs. One of the same name that is not ours
  /// stays.
  std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord& job) override {
    const Cancel never;
    const LinkedCancel limit(never, kStopAtServer);
    auto removed = attempt([&] { api_.remove(path_of(id), job.engine_job.key, limit.both()); });
    if (!removed.ok() && limit.timed_out()) removed = Outcome<void>(silence_after(kStopAtServer));
    return {result_of(removed)};
  }

  void logs(const std::string& id, const JobRecord& job, const LogRequest& request,
            JobObserver& observer, const Cancel& cancel) override {
    if (request.rank) require_rank(id, job.placement, *request.rank);
    PodLogReader reader(api_, job, request, observer);
    Outage outage;
    try {
      for (bool is_first = true; !cancel.requested(); is_first = false) {
        const bool may_wait = request.mode == LogMode::follow;
        const auto seen =
            may_wait ? look_patiently(id, job, outage, observer, cancel) : look(id, job, cancel);
        const bool is_over = seen && has_finished(*seen);
        if (is_over && is_first && !seen->pod)
          throw Error(ErrorKind::not_found,
                      "the pods of job " + id + " are gone, and its log with them");
        if (is_over || !may_wait) {
          if (seen->pod && seen->pod->has_log)
            reader.read(seen->pod->name, LogMode::what_there_is, is_over, cancel);
          return;
        }
        if (seen) read_log(reader, *seen, LogMode::follow, outage, observer, cancel);
        wait_or_cancel(times_.between_questions, cancel);
      }
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::interrupted || request.mode != LogMode::follow) throw;
    }
  }

  std::vector<HostResult<ssh::Exit>> remove(const std::string& id, const JobRecord& job,
                                            const Cancel&) override {
    return stop(id, job);
  }

 private:
  Error silence_after(milliseconds limit) const {
    return {ErrorKind::transient, "Kubernetes (context " + api_.access().context +
                                      ") does not answer within " + to_string(limit)};
  }

  std::string path_of(const std::string& id) const {
    return mpijobs_path(api_.access().name_space) + "/" + id;
  }

  /// Returns "train-1 in namespace ml".
  std::string place_of(const std::string& id) const {
    return id + " in namespace " + api_.access().name_space;
  }

  SeenMpiJob look(const std::string& id, const JobRecord& job, const Cancel& cancel) {
    SeenMpiJob seen;
    const auto there = api_.find(path_of(id), cancel);
    if (!there) return seen;
    seen.is_foreign = !has_key(*there, job.engine_job.key);
    if (seen.is_foreign) return seen;
    seen.job = parse_mpijob(*there);
    const auto pods = api_.find(launcher_pods_path(api_.access().name_space, id), cancel);
    if (pods) seen.pod = parse_launcher_pod(*pods);
    put_on_our_clock(seen, api_.clock_offset());
    return seen;
  }

  /// Returns the outcome of a job that has ended. Which rank failed first is in the end of the log.
  JobOutcome outcome_of(const std::string& id, const JobRecord& job, const SeenMpiJob& seen,
                        const Cancel& cancel) {
    JobOutcome outcome = decide_mpijob(*seen.job, seen.pod, job.spec);
    if (outcome.cause != JobEndCause::failure || !seen.pod->has_log) return outcome;
    try {
      constexpr std::uint64_t kLastLines = 500;
      LastWords last;
      PodLogReader(api_, job, {.tail = agent::Tail{kLastLines}}, last)
          .read(seen.pod->name, LogMode::what_there_is, true, cancel);
      const MpiJobSize size{.slots = seen.job->slots, .ranks = total_ranks(job.placement)};
      auto failure = failure_named_by_mpirun(last.of_mpirun(), id, size);
      if (!failure) return outcome;
      failure->last_lines = last.lines_of(failure->rank, seen.job->secrets);
      blame_rank(outcome, *std::move(failure));
    } catch (const Error&) {  // The outcome of the launcher's pod remains.
      return outcome;
    }
    return outcome;
  }

  /// Returns the same after the job was followed. Reading the end of the log may then take longer.
  JobOutcome outcome_of_ended(const std::string& id, const JobRecord& job, const SeenMpiJob& seen,
                              const Cancel& cancel) {
    const LinkedCancel limit(cancel, kLastWordsAtServer);
    return outcome_of(id, job, seen, limit.both());
  }

  /// Looks at a job. Absent if the server does not answer. Throws once it has not done so for long.
  std::optional<SeenMpiJob> look_patiently(const std::string& id, const JobRecord& job,
                                           Outage& outage, JobObserver& observer,
                                           const Cancel& cancel) {
    try {
      SeenMpiJob seen = look(id, job, cancel);
      outage.server.reset();
      return seen;
    } catch (const Error& e) {
      // A server that comes back refuses all logins until it has read the roles and accounts.
      const bool is_back = e.kind() == ErrorKind::denied && (outage.server || outage.log);
      if (!is_silence(e) && !is_back) throw;
      if (prolong(outage, &Outage::server, observer, e) >= times_.server_timeout)
        throw e.during("job " + id);
      return std::nullopt;
    }
  }

  /// Reads the log if there is one. Returns false if it should be tried again; true also once it
  /// could not be read for long.
  bool read_log(PodLogReader& reader, const SeenMpiJob& seen, LogMode mode, Outage& outage,
                JobObserver& observer, const Cancel& cancel) const {
    if (!seen.pod || !seen.pod->has_log) return true;
    const std::uint64_t before = reader.bytes();
    try {
      reader.read(seen.pod->name, mode, has_finished(seen), cancel);
      outage.log.reset();
      return true;
    } catch (const Error& e) {
      if (!is_silence(e)) throw;
      if (reader.bytes() != before) outage.log.reset();
      return prolong(outage, &Outage::log, observer, e) >= times_.server_timeout;
    }
  }

  /// Removes what a request has created whose answer was lost. Returns false if the server does not
  /// confirm that nothing of it is left.
  bool is_undone(const std::string& id, const std::string& key) try {
    const Cancel never;
    const LinkedCancel limit(never, kStopAtServer);
    api_.remove(path_of(id), key, limit.both());
    return true;
  } catch (const Error&) {
    return false;
  }

  std::unique_ptr<http::Client> client_;
  KubernetesApi api_;
  KubernetesTimes times_;
};

}  // namespace

std::unique_ptr<JobEngine> make_kubernetes_engine(std::unique_ptr<http::Client> client,
                                                  KubernetesAccess access, KubernetesTimes times) {
  return std::make_unique<KubernetesEngine>(std::move(client), std::move(access), times);
}

}  // namespace fastgpu::launcher
