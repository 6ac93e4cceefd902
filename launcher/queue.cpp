#include "launcher/queue.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "launcher/array.hpp"
#include "launcher/job_store.hpp"

namespace fastgpu::launcher {
namespace {

using state::Job;
using state::JobState;

/// Returns the record; null for one that cannot be read. Such a job takes part in no decision.
const JobRecord* record_of(const Job& job) try { return &*job.record; } catch (const Error&) {
  return nullptr;
}

bool has_slots(const Job& job) {
  return job.state == JobState::starting || job.state == JobState::running;
}

/// Returns true for a job that needs slots for itself. The jobs of other engines have none.
bool is_exclusive(const JobRecord& record) {
  return record.spec.sharing == Sharing::exclusive && record.spec.engine == EngineKind::mpirun;
}

int ranks_on(const JobRecord& record, const NodeName& node) {
  int ranks = 0;
  for (const NodeRanks& one : record.placement)
    if (one.node == node) ranks += one.count * std::max(1, one.workers);
  return ranks;
}

bool share_a_node(const JobRecord& a, const JobRecord& b) {
  return std::ranges::any_of(a.placement,
                             [&](const NodeRanks& node) { return ranks_on(b, node.node) > 0; });
}

/// The state of a job or an array that another one starts after.
enum class Before : std::uint8_t { open, succeeded, failed, deleted };

/// Returns the state of `id`, a job or an array. An array has failed if one of its jobs has.
Before state_before(std::span<const Job> jobs, const std::string& id) {
  bool is_known = false, is_open = false;
  for (const Job& job : jobs) {
    if (job.id != id && array_of(job.id) != id) continue;
    is_known = true;
    is_open = is_open || !has_ended(job);
    if (has_ended(job) && job.state != JobState::succeeded) return Before::failed;
  }
  if (!is_known) return Before::deleted;
  return is_open ? Before::open : Before::succeeded;
}

/// Returns the ids that must have succeeded before the job starts. A job that is started again has
/// no such condition: those had succeeded before its first start.
std::span<const std::string> conditions_of(const JobRecord& record) {
  if (record.restarts > 0) return {};
  return record.spec.after;
}

/// Returns true if the job has a place in the queue. An element that its array holds back has none,
/// and neither has a job before those have succeeded that it starts after.
bool is_waiting(const Job& job, const JobRecord& record, std::span<const Job> jobs) {
  if (job.state != JobState::queued) return false;
  if (record.spec.array && !record.spec.array->is_due) return false;
  return std::ranges::all_of(conditions_of(record), [&](const std::string& id) {
    return state_before(jobs, id) == Before::succeeded;
  });
}

/// Returns the turn of a job that never starts because of what happened to `id`.
Turn never(std::string_view what_happened, const std::string& id) {
  return {.never = "job " + id + ", after which it was to start, " + std::string(what_happened)};
}

/// Returns true if `other` starts before `own`, both waiting. `other_first`: it is older.
bool is_ahead(const JobRecord& other, const JobRecord& own, bool other_first) {
  if (other.spec.priority != own.spec.priority) return other.spec.priority > own.spec.priority;
  return other_first;
}

/// Returns true if the ranks of `own` fit beside those of the running jobs on each of its nodes. A
/// job with more ranks than a node has slots needs all of them.
bool fits(const JobRecord& own, std::span<const NodeSlots> nodes, std::span<const NodeSlots> free) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (std::min(ranks_on(own, nodes[i].name), nodes[i].slots) > free[i].slots) return false;
  return true;
}

/// Adds the parts that a job holds; none if its record is damaged.
void add_parts(const Job& job, std::vector<HeldParts>& held) try {
  for (const NodeRanks& ranks : job.record->placement)
    if (!ranks.cpus.empty() || !ranks.gpus.empty()) held.push_back(parts_held_by(job.id, ranks));
} catch (const Error&) {
  return;
}

}  // namespace

std::vector<HeldParts> held_parts(std::span<const Job> jobs) {
  std::vector<HeldParts> held;
  for (const Job& job : jobs) {
    const JobRecord* const record = record_of(job);
    if (record != nullptr && has_slots(job) && is_exclusive(*record)) add_parts(job, held);
  }
  return held;
}

std::vector<NodeSlots> free_slots(std::span<const NodeSlots> nodes, std::span<const Job> jobs) {
  std::vector<NodeSlots> free(nodes.begin(), nodes.end());
  for (const Job& job : jobs) {
    const JobRecord* const record = record_of(job);
    if (record == nullptr || !has_slots(job) || !is_exclusive(*record)) continue;
    for (NodeSlots& node : free)
      node.slots = std::max(0, node.slots - ranks_on(*record, node.name));
  }
  return free;
}

std::vector<NodeRanks> place_in_queue(std::span<const NodeSlots> nodes, std::span<const Job> jobs,
                                      const JobSpec& spec) {
  auto placement = place(nodes, spec);
  if (spec.sharing == Sharing::shared || spec.crowding == Crowding::allowed) return placement;
  JobSpec exact = spec;  // On free slots alone "every slot" would be fewer ranks.
  exact.ranks = total_ranks(placement);
  try {
    return place(free_slots(nodes, jobs), exact);
  } catch (const Error&) {
    return placement;
  }
}

bool fits_now(std::span<const NodeSlots> nodes, std::span<const Job> jobs, const JobSpec& spec) {
  if (spec.sharing == Sharing::shared || spec.crowding == Crowding::allowed) return true;
  JobSpec exact = spec;
  exact.ranks = total_ranks(place(nodes, spec));
  try {
    place(free_slots(nodes, jobs), exact);
    return true;
  } catch (const Error&) {
    return false;
  }
}

Turn turn_of(const Job& own, std::span<const NodeSlots> nodes, std::span<const Job> jobs) {
  Turn turn;
  const JobRecord& record = *own.record;
  for (const std::string& id : conditions_of(record)) {
    switch (state_before(jobs, id)) {
      case Before::failed:
        return never("did not succeed", id);
      case Before::deleted:
        return never("was deleted", id);
      case Before::open:
        turn.waits_for.push_back(id);
        break;
      case Before::succeeded:
        break;
    }
  }
  if (!is_exclusive(record)) return turn;
  const bool is_full = !fits(record, nodes, free_slots(nodes, jobs));
  bool is_older = false;  // The newest is the first.
  for (const Job& other : jobs) {
    if (other.id == own.id) {
      is_older = true;
      continue;
    }
    const JobRecord* const theirs = record_of(other);
    if (theirs == nullptr || other.cluster != own.cluster || !is_exclusive(*theirs)) continue;
    if (!share_a_node(*theirs, record)) continue;
    const bool has_priority =
        is_waiting(other, *theirs, jobs) && is_ahead(*theirs, record, is_older);
    const bool has_what_is_needed = is_full || contains(record.part_holders, other.id);
    const bool is_in_the_way = (has_slots(other) && has_what_is_needed) || has_priority;
    if (is_in_the_way && !contains(turn.waits_for, other.id)) turn.waits_for.push_back(other.id);
  }
  return turn;
}

std::vector<std::string> starting_after(const std::string& id, std::span<const Job> jobs) {
  std::vector<std::string> waiting;
  for (const Job& job : jobs) {
    const JobRecord* const record = record_of(job);
    if (record == nullptr || job.state != JobState::queued) continue;
    const auto after = conditions_of(*record);
    if (!contains(after, id) && !contains(after, array_of(id))) continue;
    const std::string array = array_of(job.id);
    const std::string& name = array.empty() ? job.id : array;
    if (!contains(waiting, name)) waiting.push_back(name);
  }
  return waiting;
}

}  // namespace fastgpu::launcher
