#include "launcher/kubernetes_engine.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/time_text.hpp"
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
constexpr milliseconds kStopAtServer{30'000};

JobOutcome gone_outcome() {
  return {.state = state::JobState::lost,
          .exit_code = 1,
          .reason = "the MPIJob is gone: it was deleted in Kubernetes"};
}

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
};

bool has_finished(const SeenMpiJob& seen) {
  return !seen.job || seen.job->phase == MpiJobPhase::succeeded ||
         seen.job->phase == MpiJobPhase::failed;
}

/// Reads the log of the launcher's pod, from where the last reading ended.
class PodLogReader {
 public:
  PodLogReader(KubernetesApi& api, const JobRecord& job, LogRequest request, JobObserver& observer)
      : api_(api),
        request_(std::move(request)),
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
    const std::string path = pod_log_path(api_.access().name_space, pod, mode == LogMode::follow,
                                          since, seconds, seen_any_ ? std::nullopt : request_.tail);
    try {
      api_.stream(
          path, [this](std::string_view bytes) { log_.take(bytes); }, cancel);
    } catch (const Error&) {
      log_.end(false);
      throw;
    }
    seen_any_ = true;
    log_.end(has_ended);
  }

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
  bool seen_any_ = false;
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
    const std::string key = random_hex(16);
    const auto manifest = mpijob_manifest(id, job.spec, api_.access().name_space, key);
    try {
      api_.create(mpijobs_path(api_.access().name_space), manifest, key, cancel);
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::not_found)
        throw Error(ErrorKind::not_found, std::string(e.what()) +
                                              ": Kubeflow's MPI operator (MPIJob v2beta1) is not "
                                              "installed there, or the namespace is missing");
      // A cancelled or lost request may have created the job.
      const bool may_exist = e.kind() == ErrorKind::interrupted || e.kind() == ErrorKind::transient;
      if (may_exist) remove_if_ours(id, key);
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

  JobGlance glance(const std::string& id, const JobRecord& job) override {
    const Cancel never;
    const LinkedCancel limit(never, kGlanceAtServer);
    SeenMpiJob seen;
    try {
      seen = look(id, limit.both());
    } catch (const Error& e) {
      if (!limit.timed_out()) throw;
      throw Error(ErrorKind::transient,
                  "Kubernetes (context " + api_.access().context + ") does not answer within 5 s");
    }
    if (!seen.job) return {.outcome = gone_outcome()};
    if (has_finished(seen)) return {.outcome = decide_mpijob(*seen.job, seen.pod, job.spec)};
    const bool waits = seen.job->phase == MpiJobPhase::waiting;
    const std::string why =
        seen.pod && !seen.pod->reason.empty() ? " (" + seen.pod->reason + ")" : "";
    return {.waits = waits,
            .reason = waits ? "waits for its pods" + why : "",
            .nodes = seen.pod ? seen.pod->node : ""};
  }

  JobOutcome follow(const std::string& id, const JobRecord& job, OnCancel on_cancel,
                    const FollowingOptions& options, JobObserver& observer,
                    const Cancel& cancel) override {
    PodLogReader reader(
        api_, job,
        {.rank = {}, .tail = options.tail, .since = options.since, .times = options.times},
        observer);
    std::optional<SteadyClock::time_point> silent_since;
    while (!cancel.requested()) {
      try {
        const SeenMpiJob seen = look(id, cancel);
        const bool is_over = has_finished(seen);
        if (options.data && seen.pod && seen.pod->has_log)
          reader.read(seen.pod->name, is_over ? LogMode::what_there_is : LogMode::follow, is_over,
                      cancel);
        silent_since.reset();
        if (!seen.job) return gone_outcome();
        if (is_over) return decide_mpijob(*seen.job, seen.pod, job.spec);
      } catch (const Error& e) {
        if (e.kind() == ErrorKind::interrupted) break;
        if (e.kind() != ErrorKind::transient && e.kind() != ErrorKind::timeout) throw;
        const auto now = SteadyClock::now();
        if (!silent_since) observer.connection_lost({"kubernetes"}, e);
        if (!silent_since) silent_since = now;
        if (now - *silent_since >= times_.server_timeout)
          throw e.during("job " + id + ", which is not affected");
      }
      wait_or_cancel(times_.between_questions, cancel);
    }
    if (on_cancel == OnCancel::leave_job)
      throw Error(ErrorKind::interrupted, "interrupted; job " + id + " is still running");
    for (const auto& stopped : stop(id, job))
      if (!stopped.ok()) throw stopped.error().during("stopping job " + id);
    return {.state = state::JobState::cancelled, .exit_code = 130, .reason = "cancelled"};
  }

  /// Deletes the MPIJob, and with it its pods and their logs.
  std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord&) override {
    const Cancel never;
    const LinkedCancel limit(never, kStopAtServer);
    return {result_of(attempt([&] { api_.remove(path_of(id), limit.both()); }))};
  }

  void logs(const std::string& id, const JobRecord& job, const LogRequest& request,
            JobObserver& observer, const Cancel& cancel) override {
    if (request.rank) require_rank(id, job.placement, *request.rank);
    PodLogReader reader(api_, job, request, observer);
    for (bool is_first = true;; is_first = false) {
      const SeenMpiJob seen = look(id, cancel);
      const bool is_over = has_finished(seen);
      if (!seen.pod && is_first && is_over)
        throw Error(ErrorKind::not_found,
                    "the pods of job " + id + " are gone, and its log with them");
      const bool follows = request.mode == LogMode::follow && !is_over;
      try {
        if (seen.pod && seen.pod->has_log)
          reader.read(seen.pod->name, follows ? LogMode::follow : LogMode::what_there_is, is_over,
                      cancel);
      } catch (const Error& e) {
        if (e.kind() == ErrorKind::interrupted && follows) return;
        if (e.kind() != ErrorKind::transient || !follows) throw;
        observer.connection_lost({"kubernetes"}, e);
      }
      if (!follows || cancel.requested()) return;
      wait_or_cancel(times_.between_questions, cancel);
    }
  }

  std::vector<HostResult<ssh::Exit>> remove(const std::string& id, const JobRecord& job,
                                            const Cancel&) override {
    return stop(id, job);
  }

 private:
  std::string path_of(const std::string& id) const {
    return mpijobs_path(api_.access().name_space) + "/" + id;
  }

  SeenMpiJob look(const std::string& id, const Cancel& cancel) {
    SeenMpiJob seen;
    const auto job = api_.find(path_of(id), cancel);
    if (!job) return seen;
    seen.job = parse_mpijob(*job);
    const auto pods = api_.find(launcher_pods_path(api_.access().name_space, id), cancel);
    if (pods) seen.pod = parse_launcher_pod(*pods);
    return seen;
  }

  /// Removes what a request has created whose answer was lost. A server that does not answer keeps
  /// it.
  void remove_if_ours(const std::string& id, const std::string& key) try {
    const Cancel never;
    const LinkedCancel limit(never, kStopAtServer);
    if (api_.has_key(path_of(id), key, limit.both())) api_.remove(path_of(id), limit.both());
  } catch (const Error&) {
    return;  // The first error is the one to report.
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
