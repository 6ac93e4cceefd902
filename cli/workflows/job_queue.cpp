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
#include "cli/workflows/job_owner.hpp"
#include "cli/workflows/queue_questions.hpp"
#include "cli/workflows/remote_target.hpp"
#include "cli/workflows/silent_nodes.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

using state::JobState;

constexpr std::chrono::milliseconds kBetweenLooks{300};
constexpr std::chrono::seconds kLookAnyway{3};  ///< Although nothing on record has changed.

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
    store.wait_longer(kWaitForOthers);
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

/// Returns the jobs of the cluster that have not ended, and those that any of them starts after, or
/// that `named` has.
std::vector<state::Job> jobs_that_count(Services& services, const state::ClusterId& cluster,
                                        const std::vector<std::string>& named) {
  std::vector<state::Job> around = services.store().open_jobs(cluster);
  std::set<std::string> before(named.begin(), named.end());
  std::set<std::string> known;
  for (const state::Job& job : around) {
    known.insert(job.id);
    if (job.state != JobState::queued) continue;
    const std::vector<std::string> ids = ids_before(job);
    before.insert(ids.begin(), ids.end());
  }
  for (const std::string& id : before)
    for (state::Job& job : services.store().jobs_of(id))
      if (known.insert(job.id).second) around.push_back(std::move(job));
  return around;
}

/// Returns the nodes of a cluster with their slots, and whether they have answered.
std::vector<launcher::NodeSlots> slots_now(Services& services, const state::ClusterId& cluster) {
  const std::vector<state::Node> nodes = services.store().nodes(cluster);
  std::vector<launcher::NodeSlots> slots = slots_of(nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    slots[i].is_silent = silence_of(services, nodes[i]).has_value();
  return slots;
}

/// Returns the jobs that decide the turn of `job`, the newest first, as the records are.
std::vector<state::Job> jobs_around(Services& services, const state::Job& job) {
  std::vector<state::Job> jobs = jobs_that_count(services, job.cluster, ids_before(job));
  if (job.id.empty()) jobs.insert(jobs.begin(), job);
  return jobs;
}

/// Returns the turn of `job`, as the records are.
launcher::Turn recorded_turn(Services& services, const state::Job& job) {
  const std::vector<state::Job> jobs = jobs_around(services, job);
  return launcher::turn_of(job, slots_now(services, job.cluster), jobs);
}

/// Records the ends of jobs in the cluster's queue that no fastgpu waits for any more, or starts.
void end_forgotten(Services& services, const state::Job& job) {
  for (state::Job& other : services.store().open_jobs(job.cluster)) {
    if (other.id == job.id) continue;
    if (is_forgotten(services, other))
      end_waiting(services, other, JobState::lost, 1, "the fastgpu that queued it has ended");
    else
      without_cut_preparation(services, other);
  }
}

/// Returns the turn of a queued job; that of one that may start for a damaged record. `around` are
/// the jobs that decide its turn.
launcher::Turn turn_among(const state::Job& job, const std::vector<launcher::NodeSlots>& nodes,
                          const std::vector<state::Job>& around) try {
  return launcher::turn_of(job, nodes, around);
} catch (const Error&) {
  return {};
}

/// Returns whether the cluster of a job is deleted, or is being deleted.
bool has_no_cluster(Services& services, const state::Job& job) {
  if (is_in_kubernetes(job)) return false;
  const auto cluster = services.store().find_cluster(job.cluster);
  return !cluster || cluster->state == state::ClusterState::deleting;
}

/// Puts the jobs that hold the cores and GPUs which a waiting job needs into its record, from that
/// of the job as it would begin. Returns false if they are there.
bool put_holders(state::Job& job, const launcher::JobRecord& begun) {
  if (job.record->part_holders == begun.part_holders && job.record->part_ends == begun.part_ends)
    return false;
  launcher::JobRecord record = *job.record;
  record.part_holders = begun.part_holders;
  record.part_ends = begun.part_ends;
  job.record = std::move(record);
  return true;
}

/// Makes the placement of a job that begins final. Nothing of it is started before note_order().
/// The pods of Kubernetes need no preparation.
void fix_place(state::Job& job) {
  launcher::JobRecord record = *job.record;
  record.choice.reset();
  record.is_preparing = record.spec.engine != launcher::EngineKind::kubernetes;
  job.record = std::move(record);
}

/// The findings of a look at the records, for a job that waits.
struct Look {
  bool is_ended = false;  ///< Another process has recorded its end, or removed it.
  bool has_lost_cluster = false;
  launcher::Turn turn{};
  state::Job stored{};
  state::Job begun{};  ///< The job with the cores and GPUs that it would get now.

  bool still_waits() const { return !is_ended && !has_lost_cluster && !turn.waits_for.empty(); }
};

Look look(Services& services, const state::Job& job,
          std::span<const launcher::NodeTopology> topologies) {
  Look seen;
  auto stored = services.store().find_job(job.id);
  seen.is_ended = !stored || launcher::has_ended(*stored);
  seen.has_lost_cluster = has_no_cluster(services, job);
  if (seen.is_ended || seen.has_lost_cluster) return seen;
  seen.stored = std::move(*stored);
  seen.begun = job;
  give_place(services, seen.begun);
  give_parts(services, seen.begun, topologies);
  seen.turn = recorded_turn(services, seen.begun);
  return seen;
}

/// Starts the job on record if it is its turn, which is returned. Many jobs may wait: one whose
/// turn it is not takes no lock of the database.
launcher::Turn begin_if_possible(Services& services, state::Job& job,
                                 std::span<const launcher::NodeTopology> topologies) {
  Look seen = look(services, job, topologies);
  const auto has_other_holders = [&] {
    return !topologies.empty() && put_holders(seen.stored, *seen.begun.record);
  };
  if (seen.still_waits() && !has_other_holders()) return seen.turn;
  services.store().atomically([&] {
    seen = look(services, job, topologies);
    if (seen.is_ended || seen.has_lost_cluster || !seen.turn.never.empty()) return;
    if (seen.still_waits()) {
      if (has_other_holders()) services.store().update_job(seen.stored);
      return;
    }
    fix_place(seen.begun);
    seen.begun.state = JobState::starting;
    services.store().update_job(seen.begun);
  });
  if (seen.is_ended)
    throw Error(ErrorKind::interrupted, "job " + job.id + " was cancelled before its turn");
  if (seen.has_lost_cluster) {
    const std::string why = "its cluster was deleted before its turn";
    end_waiting(services, job, JobState::cancelled, 1, why);
    throw Error(ErrorKind::conflict, "job " + job.id + " was cancelled: " + why);
  }
  if (!seen.turn.never.empty()) {
    end_waiting(services, job, JobState::cancelled, 1, seen.turn.never);
    throw Error(ErrorKind::remote, "job " + job.id + ": " + seen.turn.never);
  }
  if (seen.turn.waits_for.empty()) job = std::move(seen.begun);
  return seen.turn;
}

}  // namespace

std::vector<launcher::NodeRanks> place_among(Services& services, const state::Cluster& cluster,
                                             const std::vector<state::Node>& nodes,
                                             const launcher::JobSpec& spec) {
  return launcher::place_in_queue(slots_of(nodes), services.store().open_jobs(cluster.id), spec);
}

std::optional<launcher::PlaceChoice> choice_among(const std::vector<state::Node>& nodes,
                                                  const launcher::JobSpec& spec) {
  const bool waits =
      spec.sharing == launcher::Sharing::exclusive && spec.crowding == launcher::Crowding::refused;
  if (!waits) return std::nullopt;
  return launcher::PlaceChoice{.nodes = slots_of(nodes), .per_node = spec.per_node};
}

launcher::Turn turn_now(Services& services, const state::Job& job) {
  end_forgotten(services, job);
  return recorded_turn(services, job);
}

std::vector<launcher::Turn> turns_of(Services& services, const std::vector<state::Job>& jobs) {
  std::vector<launcher::Turn> turns(jobs.size());
  std::map<state::ClusterId, std::vector<std::size_t>> queued;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i].state == JobState::queued) queued[jobs[i].cluster].push_back(i);
  if (queued.empty()) return turns;
  for (const auto& [cluster, indexes] : queued) {
    const auto around = jobs_that_count(services, cluster, {});
    const auto nodes = slots_now(services, cluster);
    for (const std::size_t i : indexes)
      turns[i] = turn_among(jobs[i], nodes, around);
  }
  return turns;
}

std::vector<launcher::HeldParts> held_now(Services& services, const state::ClusterId& cluster) {
  return launcher::held_parts(services.store().open_jobs(cluster));
}

void give_place(Services& services, state::Job& job) {
  if (!job.record->choice) return;
  auto placement =
      launcher::place_now(job, slots_now(services, job.cluster), jobs_around(services, job));
  if (!placement) return;
  launcher::JobRecord record = *job.record;
  record.placement = std::move(*placement);
  job.record = std::move(record);
}

void give_parts(Services& services, state::Job& job,
                std::span<const launcher::NodeTopology> topologies) {
  if (topologies.empty()) return;
  launcher::JobRecord record = *job.record;
  const launcher::RankUnit unit = record.spec.per;
  const std::vector<launcher::HeldParts> held = held_now(services, job.cluster);
  record.part_holders =
      launcher::bind_ranks(record.placement, topologies, unit, held, record.spec.sharing);
  record.part_ends =
      launcher::part_ends_needed(record.placement, topologies, unit, held, record.part_holders);
  job.record = std::move(record);
}

void note_holders(Services& services, state::Job& job,
                  std::span<const launcher::NodeTopology> topologies) {
  if (topologies.empty()) return;
  state::Job begun = job;
  give_parts(services, begun, topologies);
  put_holders(job, *begun.record);
}

void wait_for_turn(Services& services, state::Job& job,
                   std::span<const launcher::NodeTopology> topologies) {
  std::string shown;
  std::string silence;  // As it is on record.
  launcher::Turn turn;
  state::StoreVersion seen;
  Clock::time_point look_again{};
  QueueQuestions questions(services);
  const EndAtCancel end_at_cancel(services, job);
  for (;;) {
    if (services.cancel().requested()) {
      end_waiting(services, job, JobState::cancelled, 130, std::string(kGivenUp));
      services.cancel().check();
    }
    const state::StoreVersion version = services.store().version();
    if (version != seen || services.clock().now() >= look_again) {
      turn = begin_if_possible(services, job, topologies);
      if (turn.waits_for.empty()) return services.messages().end_progress();
      seen = version;
      look_again = services.clock().now() + kLookAnyway;
    }
    const std::string text =
        "job " + job.id + " waits for " + words_for(turn) + (silence.empty() ? "" : "; ") + silence;
    if (text != std::exchange(shown, text)) services.messages().progress(text);
    if (services.cancel().requested()) continue;
    if (std::string now = questions.ask_about(turn.waits_for); now != silence) {
      silence = std::move(now);
      launcher::note_wait(services.store(), job.id, silence);
    }
    pause_or_cancel(services, kBetweenLooks);
  }
}

void note_order(Services& services, state::Job& job) {
  services.store().atomically([&] {
    const auto stored = services.store().find_job(job.id);
    if (!stored || launcher::has_ended(*stored))
      throw Error(ErrorKind::interrupted, "job " + job.id + " was ended before it began");
    launcher::JobRecord record = *stored->record;
    record.is_preparing = false;
    job = *stored;
    job.record = std::move(record);
    services.store().update_job(job);
  });
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
    if (services.cancel().requested())
      throw Error(ErrorKind::interrupted, "interrupted; job " + job.id + " is still queued");
    if (limit && services.clock().now() >= deadline)
      throw Error(ErrorKind::timeout, "job " + job.id + " has not ended after " +
                                          to_string(*limit) + "; it is still queued");
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
