#include "cli/workflows/job_end_watch.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/wait.hpp"
#include "cli/workflows/job_access.hpp"

namespace fastgpu::cli {
namespace {

/// Each job that is watched costs a thread and a connection. Others are asked now and then.
constexpr std::size_t kMostWatched = 16;
/// The pause after a wait that ended without the end of its job, such as a broken connection.
constexpr std::chrono::seconds kBeforeNextWait{3};

/// Returns true for a job that runs, or that its engine's own queue has.
bool has_begun_somewhere(const state::Job& job) {
  return job.state == state::JobState::running ||
         (job.state == state::JobState::starting && !job.record->engine_job.id.empty());
}

std::string run_of(const state::Job& job) {
  return launcher::run_name(job.id, job.record->restarts);
}

/// Returns the cluster of the job: an empty one in Kubernetes; absent if it does not run.
std::optional<state::Cluster> cluster_to_watch(Services& services, const state::Job& job) {
  if (is_in_kubernetes(job)) return state::Cluster{};
  auto cluster = services.store().find_cluster(job.cluster);
  const bool runs = cluster && (cluster->state == state::ClusterState::running ||
                                cluster->state == state::ClusterState::degraded);
  return runs ? std::move(cluster) : std::nullopt;
}

}  // namespace

/// A thread that waits for the end of one run, again and again until it is stopped.
class JobEndWatch::Wait {
 public:
  /// Throws if the job's cluster cannot be reached from here.
  Wait(Services& services, const state::Cluster& cluster, const state::Job& job)
      : id_(job.id),
        run_(run_of(job)),
        record_(*job.record),
        client_(services.another_ssh()),
        engine_(engine_for(services, cluster, record_, launcher::kLostAfter, client_.get())),
        thread_([this] { wait_again_and_again(); }) {}
  ~Wait() { stop(); }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  /// Makes the thread end soon, without waiting for it.
  void stop() noexcept { stopped_.request(); }
  const std::string& job() const noexcept { return id_; }
  bool take_end() noexcept { return may_have_ended_.exchange(false); }

 private:
  void wait_again_and_again() noexcept {
    while (!stopped_.requested()) {
      wait_once();
      may_have_ended_ = true;
      wait_or_cancel(kBeforeNextWait, stopped_);
    }
  }

  void wait_once() noexcept try {
    engine_->await_end(run_, record_, stopped_);
  } catch (const std::exception&) {
    // The job is asked about by other means, which find the same failure.
  }

  std::string id_;
  std::string run_;
  launcher::JobRecord record_;
  std::unique_ptr<ssh::Client> client_;
  std::unique_ptr<launcher::JobEngine> engine_;
  Cancel stopped_{};
  std::atomic<bool> may_have_ended_{false};
  std::jthread thread_;  ///< The last member: the thread uses all others.
};

JobEndWatch::JobEndWatch(Services& services) : services_(services) {}

JobEndWatch::~JobEndWatch() {
  for (const auto& [run, wait] : waits_)
    wait->stop();  // All of them end at the same time.
}

bool JobEndWatch::is_watched(const state::Job& job) const try {
  return waits_.contains(run_of(job));
} catch (const Error&) {  // Its record cannot be read.
  return false;
}

void JobEndWatch::watch(std::span<const state::Job> jobs) {
  std::map<std::string, std::unique_ptr<Wait>> wanted;
  for (const state::Job& job : jobs) {
    if (wanted.size() == kMostWatched) break;
    try {
      if (!has_begun_somewhere(job)) continue;
      const std::string run = run_of(job);
      if (const auto known = waits_.find(run); known != waits_.end()) {
        wanted[run] = std::move(known->second);
        waits_.erase(known);
      } else if (const auto cluster = cluster_to_watch(services_, job)) {
        wanted[run] = std::make_unique<Wait>(services_, *cluster, job);
      }
    } catch (const Error&) {  // Its record or its cluster's key cannot be read.
      services_.cancel().check();
    }
  }
  for (const auto& [run, wait] : waits_)
    wait->stop();
  waits_ = std::move(wanted);
}

std::set<std::string> JobEndWatch::take_ends() {
  std::set<std::string> ends;
  for (const auto& [run, wait] : waits_)
    if (wait->take_end()) ends.insert(wait->job());
  return ends;
}

}  // namespace fastgpu::cli
