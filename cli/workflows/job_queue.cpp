#include "cli/workflows/job_queue.hpp"

#include <poll.h>

#include <array>
#include <exception>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/cancel.hpp"
#include "base/contains.hpp"
#include "base/join.hpp"
#include "base/units.hpp"
#include "cli/workflows/job_end_watch.hpp"
#include "cli/workflows/job_owner.hpp"
#include "launcher/array.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

using state::JobState;

constexpr std::chrono::milliseconds kBetweenLooks{300};
/// The nodes of jobs whose end is not awaited are asked less often than the state directory.
constexpr std::chrono::seconds kBetweenQuestions{3};

void pause_or_cancel(Services& services, std::chrono::milliseconds duration) {
  pollfd fd{services.cancel().fd(), POLLIN, 0};
  ::poll(&fd, 1, static_cast<int>(duration.count()));
}

void end_waiting(Services& services, state::Job& job, JobState how, int code,
                 const std::string& why) {
  launcher::mark_ended(services.store(), job, {.state = how, .exit_code = code, .reason = why});
}

constexpr std::string_view kGivenUp = "cancelled before its turn";

/// Records that a waiting job is cancelled as soon as a stop is requested: the thread that waits
/// may be asking nodes then, and a second Ctrl-C ends the process.
class EndAtCancel {
 public:
  /// Borrows `services`.
  EndAtCancel(Services& services, const state::Job& job)
      : cancel_(services.cancel()),
        directory_(services.state_directory()),
        id_(job.id),
        thread_([this] { wait(); }) {}
  ~EndAtCancel() { is_over_.request(); }
  EndAtCancel(const EndAtCancel&) = delete;
  EndAtCancel& operator=(const EndAtCancel&) = delete;

 private:
  void wait() noexcept {
    std::array<pollfd, 2> either = {pollfd{cancel_.fd(), POLLIN, 0},
                                    pollfd{is_over_.fd(), POLLIN, 0}};
    while (!cancel_.requested() && !is_over_.requested())
      ::poll(either.data(), either.size(), -1);
    if (!is_over_.requested()) record_end();
  }

  void record_end() noexcept try {
    state::Store store(directory_);  // Of this thread alone.
    store.atomically([&] {
      auto job = store.find_job(id_);
      if (job && job->state == JobState::queued)
        launcher::mark_ended(
            store, *job,
            {.state = JobState::cancelled, .exit_code = 130, .reason = std::string(kGivenUp)});
    });
  } catch (const std::exception&) {
    return;  // The thread that waits for the turn records it, too.
  }

  const Cancel& cancel_;
  std::filesystem::path directory_;
  std::string id_;
  Cancel is_over_;
  std::jthread thread_;  ///< The last member: the thread uses all others.
};

/// Returns the ids that the job starts after; none for a record that cannot be read.
std::vector<std::string> ids_before(const state::Job& job) try {
  return job.record->spec.after;
} catch (const Error&) {
  return {};
}

/// Returns the jobs of the cluster that count among `all`, and those that any of them starts after,
/// or that `named` has; the newest first.
std::vector<state::Job> jobs_that_count(const std::vector<state::Job>& all,
                                        const state::ClusterId& cluster,
                                        const std::vector<std::string>& named) {
  const auto counts = [&](const state::Job& job) {
    return job.cluster == cluster && !launcher::has_ended(job);
  };
  std::set<std::string> before(named.begin(), named.end());
  for (const state::Job& job : all) {
    if (!counts(job) || job.state != JobState::queued) continue;
    const std::vector<std::string> ids = ids_before(job);
    before.insert(ids.begin(), ids.end());
  }
  std::vector<state::Job> around;
  for (const state::Job& job : all)
    if (counts(job) || before.contains(job.id) || before.contains(launcher::array_of(job.id)))
      around.push_back(job);
  return around;
}

/// Returns the jobs that decide the turn of `job`, the newest first. Records the end of others that
/// no fastgpu waits for any more.
std::vector<state::Job> jobs_around(Services& services, const state::Job& job) {
  auto around = jobs_that_count(services.store().jobs(), job.cluster, ids_before(job));
  for (state::Job& other : around)
    if (other.id != job.id && is_forgotten(services, other))
      end_waiting(services, other, JobState::lost, 1, "the fastgpu that queued it has ended");
  return around;
}

/// Returns what a queued job waits for; nothing for a damaged record. `around` are the jobs that
/// decide its turn.
std::vector<std::string> waits_among(const state::Job& job,
                                     const std::vector<launcher::NodeSlots>& nodes,
                                     const std::vector<state::Job>& around) try {
  return launcher::turn_of(job, nodes, around).waits_for;
} catch (const Error&) {
  return {};
}

/// Ends an attached job whose fastgpu has ended. Returns true if it is one.
bool end_if_abandoned(Services& services, const state::Job& job) {
  if (job.record->spec.presence != launcher::Presence::attached) return false;
  if (!JobOwner(services.state_directory(), job.id).held()) return false;
  end_abandoned(services, job);
  return true;
}

/// Asks the nodes of a running job whether it has ended. Returns why that is unknown: "the nodes of
/// job first-1 do not answer: ..."; empty if they have answered.
std::string ask_about_one(Services& services, const state::Job& job) {
  if (job.state == JobState::queued || launcher::has_ended(job)) return {};
  std::string silence;
  try {
    if (!end_if_abandoned(services, job)) silence = look_at_job(services, job).silence;
  } catch (const Error& e) {
    services.cancel().check();
    silence = e.what();
  }
  return silence.empty() ? "" : "the nodes of job " + job.id + " do not answer: " + silence;
}

/// Returns the jobs, and those of arrays, that are on record.
std::vector<state::Job> recorded_jobs(Services& services, const std::vector<std::string>& ids) {
  std::vector<state::Job> jobs;
  for (const std::string& id : ids) {
    if (auto job = services.store().find_job(id)) {
      jobs.push_back(std::move(*job));
      continue;
    }
    for (state::Job& job : services.store().jobs())
      if (launcher::array_of(job.id) == id) jobs.push_back(std::move(job));
  }
  return jobs;
}

/// Asks about the jobs that others wait for: at once about those that may have just ended, and now
/// and then about all of them.
class Questions {
 public:
  explicit Questions(Services& services) : services_(services), ends_(services) {}

  /// Returns why the end of one of them is unknown, as of the last time that all were asked; empty
  /// if all have answered.
  const std::string& ask_about(const std::vector<std::string>& ids) {
    const std::vector<state::Job> jobs = recorded_jobs(services_, ids);
    watch_ends(jobs);
    const std::set<std::string> ended = ends_.take_ends();
    const auto now = services_.clock().now();
    const bool is_time = now >= ask_all_at_;
    if (is_time) silence_.clear();
    for (const state::Job& job : jobs) {
      if (!is_time && !ended.contains(job.id)) continue;
      std::string silence = ask_about_one(services_, job);
      if (is_time && silence_.empty()) silence_ = std::move(silence);
    }
    if (is_time) ask_all_at_ = services_.clock().now() + kBetweenQuestions;
    return silence_;
  }

 private:
  /// Leaves out the jobs for which a fastgpu is responsible: it records their ends itself.
  void watch_ends(std::vector<state::Job> jobs) {
    std::erase_if(jobs, [&](const state::Job& job) {
      if (job.state == JobState::queued || launcher::has_ended(job)) return true;
      return !ends_.is_watched(job) && !JobOwner(services_.state_directory(), job.id).held();
    });
    ends_.watch(jobs);
  }

  Services& services_;
  JobEndWatch ends_;
  Clock::time_point ask_all_at_{};
  std::string silence_{};
};

/// Returns whether the cluster of a job is deleted, or is being deleted.
bool has_no_cluster(Services& services, const state::Job& job) {
  if (is_in_kubernetes(job)) return false;
  const auto cluster = services.store().find_cluster(job.cluster);
  return !cluster || cluster->state == state::ClusterState::deleting;
}

/// Puts the jobs that hold the cores and GPUs which a waiting job needs into its record. Returns
/// false if they are there.
bool put_holders(state::Job& job, const std::vector<std::string>& holders) {
  if (job.record->part_holders == holders) return false;
  launcher::JobRecord record = *job.record;
  record.part_holders = holders;
  job.record = std::move(record);
  return true;
}

/// Starts the job on record if it is its turn. Returns what it waits for otherwise.
std::vector<std::string> begin_if_possible(Services& services, state::Job& job,
                                           std::span<const launcher::NodeTopology> topologies) {
  launcher::Turn turn;
  bool is_ended = false;
  bool has_lost_cluster = false;
  state::Job begun;
  services.store().atomically([&] {
    auto stored = services.store().find_job(job.id);
    is_ended = !stored || launcher::has_ended(*stored);
    has_lost_cluster = has_no_cluster(services, job);
    if (is_ended || has_lost_cluster) return;
    begun = job;
    give_parts(services, begun, topologies);
    turn = turn_now(services, begun);
    if (!turn.never.empty()) return;
    if (!turn.waits_for.empty()) {
      if (!topologies.empty() && put_holders(*stored, begun.record->part_holders))
        services.store().update_job(*stored);
      return;
    }
    begun.state = JobState::starting;
    services.store().update_job(begun);
  });
  if (is_ended)
    throw Error(ErrorKind::interrupted, "job " + job.id + " was cancelled before its turn");
  if (has_lost_cluster) {
    const std::string why = "its cluster was deleted before its turn";
    end_waiting(services, job, JobState::cancelled, 1, why);
    throw Error(ErrorKind::conflict, "job " + job.id + " was cancelled: " + why);
  }
  if (!turn.never.empty()) {
    end_waiting(services, job, JobState::cancelled, 1, turn.never);
    throw Error(ErrorKind::remote, "job " + job.id + ": " + turn.never);
  }
  if (turn.waits_for.empty()) job = std::move(begun);
  return turn.waits_for;
}

}  // namespace

std::vector<launcher::NodeSlots> slots_of(const std::vector<state::Node>& nodes) {
  std::vector<launcher::NodeSlots> slots;
  for (const state::Node& node : nodes)
    slots.push_back({node.name, node.slots});
  return slots;
}

std::vector<launcher::NodeRanks> place_among(Services& services, const state::Cluster& cluster,
                                             const std::vector<state::Node>& nodes,
                                             const launcher::JobSpec& spec) {
  std::vector<state::Job> jobs;
  for (state::Job& job : services.store().jobs())
    if (job.cluster == cluster.id && !launcher::has_ended(job)) jobs.push_back(std::move(job));
  return launcher::place_in_queue(slots_of(nodes), jobs, spec);
}

launcher::Turn turn_now(Services& services, const state::Job& job) {
  std::vector<state::Job> jobs = jobs_around(services, job);
  if (job.id.empty()) jobs.insert(jobs.begin(), job);
  return launcher::turn_of(job, slots_of(services.store().nodes(job.cluster)), jobs);
}

std::vector<std::vector<std::string>> waits_of(Services& services,
                                               const std::vector<state::Job>& jobs) {
  std::vector<std::vector<std::string>> waits(jobs.size());
  std::map<state::ClusterId, std::vector<std::size_t>> queued;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i].state == JobState::queued) queued[jobs[i].cluster].push_back(i);
  if (queued.empty()) return waits;
  const std::vector<state::Job> all = services.store().jobs();
  for (const auto& [cluster, indexes] : queued) {
    const auto around = jobs_that_count(all, cluster, {});
    const auto nodes = slots_of(services.store().nodes(cluster));
    for (const std::size_t i : indexes)
      waits[i] = waits_among(jobs[i], nodes, around);
  }
  return waits;
}

std::vector<launcher::HeldParts> held_now(Services& services, const state::ClusterId& cluster) {
  return launcher::held_parts(jobs_that_count(services.store().jobs(), cluster, {}));
}

void give_parts(Services& services, state::Job& job,
                std::span<const launcher::NodeTopology> topologies) {
  if (topologies.empty()) return;
  launcher::JobRecord record = *job.record;
  record.part_holders = launcher::bind_ranks(record.placement, topologies, record.spec.per,
                                             held_now(services, job.cluster), record.spec.sharing);
  job.record = std::move(record);
}

void note_holders(Services& services, state::Job& job,
                  std::span<const launcher::NodeTopology> topologies) {
  if (topologies.empty()) return;
  state::Job begun = job;
  give_parts(services, begun, topologies);
  put_holders(job, begun.record->part_holders);
}

void wait_for_turn(Services& services, state::Job& job,
                   std::span<const launcher::NodeTopology> topologies) {
  std::string shown;
  std::string silence;  // As it is on record.
  Questions questions(services);
  const EndAtCancel end_at_cancel(services, job);
  for (;;) {
    if (services.cancel().requested()) {
      end_waiting(services, job, JobState::cancelled, 130, std::string(kGivenUp));
      services.cancel().check();
    }
    const auto waits_for = begin_if_possible(services, job, topologies);
    if (waits_for.empty()) return services.messages().end_progress();
    const std::string text = "job " + job.id + " waits for " + joined(waits_for) +
                             (silence.empty() ? "" : "; ") + silence;
    if (text != std::exchange(shown, text)) services.messages().progress(text);
    if (services.cancel().requested()) continue;
    if (const std::string& now = questions.ask_about(waits_for); now != silence) {
      silence = now;
      launcher::note_wait(services.store(), job.id, silence);
    }
    pause_or_cancel(services, kBetweenLooks);
  }
}

bool is_before_its_start(Services& services, const state::Job& job) {
  if (job.state == JobState::queued) return true;
  const bool is_starting = job.state == JobState::starting && job.record->engine_job.id.empty();
  return is_starting && !JobOwner(services.state_directory(), job.id).held();
}

state::Job wait_while_queued(Services& services, const state::Job& job,
                             std::optional<std::chrono::milliseconds> limit) {
  const auto deadline = services.clock().now() + limit.value_or(std::chrono::milliseconds(0));
  for (;;) {
    const auto now = services.store().find_job(job.id);
    if (!now) throw Error(ErrorKind::not_found, "job " + job.id + " was deleted");
    const state::Job fresh = refresh_job(services, *now);
    if (!is_before_its_start(services, fresh)) return fresh;
    services.cancel().check();
    if (limit && services.clock().now() >= deadline)
      throw Error(ErrorKind::timeout,
                  "job " + job.id + " has not ended after " + to_string(*limit));
    pause_or_cancel(services, kBetweenLooks);
  }
}

bool cancel_queued(Services& services, state::Job& job) {
  bool is_cancelled = false;
  services.store().atomically([&] {
    const auto stored = services.store().find_job(job.id);
    if (!stored || stored->state != JobState::queued) return;
    job = *stored;
    end_waiting(services, job, JobState::cancelled, 130, "cancelled by the user");
    is_cancelled = true;
  });
  return is_cancelled;
}

std::vector<state::Job> jobs_after_others(Services& services) {
  std::vector<state::Job> waiting;
  for (state::Job& job : services.store().jobs())
    if (job.state == JobState::queued && !ids_before(job).empty() &&
        !launcher::has_ended(refresh_job(services, job)))
      waiting.push_back(std::move(job));
  return waiting;
}

bool is_forgotten(Services& services, const state::Job& job) {
  return job.state == JobState::queued && JobOwner(services.state_directory(), job.id).held();
}

}  // namespace fastgpu::cli
