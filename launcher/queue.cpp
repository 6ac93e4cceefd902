#include "launcher/queue.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "launcher/array.hpp"
#include "launcher/engines/torchrun.hpp"
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

/// A waiting job, and its record.
struct Waiting {
  const Job* job = nullptr;
  const JobRecord* record = nullptr;
};

/// Returns the jobs that wait for slots and are ahead of `own`, the first one first.
std::vector<Waiting> jobs_ahead(const Job& own, const JobRecord& record,
                                std::span<const Job> jobs) {
  std::vector<Waiting> ahead;
  bool is_older = false;  // The newest is the first.
  for (const Job& other : jobs) {
    if (other.id == own.id) {
      is_older = true;
      continue;
    }
    if (other.state != JobState::queued || other.cluster != own.cluster) continue;
    const JobRecord* const theirs = record_of(other);
    if (theirs == nullptr || !is_exclusive(*theirs)) continue;
    if (is_waiting(other, *theirs, jobs) && is_ahead(*theirs, record, is_older))
      ahead.push_back({&other, theirs});
  }
  std::ranges::reverse(ahead);
  std::ranges::stable_sort(ahead, std::ranges::greater(),
                           [](const Waiting& one) { return one.record->spec.priority; });
  return ahead;
}

/// Returns the placement of a job by its choice on the slots that are free; absent without either.
std::optional<std::vector<NodeRanks>> place_by_choice(const JobRecord& record,
                                                      std::span<const NodeSlots> free) {
  if (!record.choice) return std::nullopt;
  std::vector<NodeSlots> chosen;
  for (NodeSlots node : record.choice->nodes) {
    const auto found = std::ranges::find(free, node.name, &NodeSlots::name);
    const bool is_usable = found != free.end() && !found->is_silent;
    node.slots = is_usable ? std::min(node.slots, found->slots) : 0;
    chosen.push_back(std::move(node));
  }
  JobSpec spec = record.spec;
  spec.per_node = record.choice->per_node;
  spec.crowding = Crowding::refused;
  spec.ranks = 0;
  for (const NodeRanks& ranks : record.placement)
    *spec.ranks += ranks.count * std::max(1, ranks.workers);
  try {
    auto placement = place(chosen, spec);
    if (spec.launcher != Launcher::torchrun) return placement;
    return torchrun_placement(std::move(placement));
  } catch (const Error&) {
    return std::nullopt;
  }
}

void take_all(std::vector<NodeSlots>& free, std::span<const NodeRanks> placement) {
  for (const NodeRanks& ranks : placement)
    for (NodeSlots& node : free)
      if (node.name == ranks.node) node.slots = 0;
}

/// Returns the slots that are free once the jobs `ended` have ended.
std::vector<NodeSlots> free_slots_without(std::span<const std::string> ended,
                                          std::span<const NodeSlots> nodes,
                                          std::span<const Job> jobs) {
  std::vector<NodeSlots> free(nodes.begin(), nodes.end());
  for (const Job& job : jobs) {
    const JobRecord* const record = record_of(job);
    if (record == nullptr || !has_slots(job) || !is_exclusive(*record)) continue;
    if (contains(ended, job.id)) continue;
    for (NodeSlots& node : free)
      node.slots = std::max(0, node.slots - ranks_on(*record, node.name));
  }
  return free;
}

/// Returns the placement of a job by its choice on `free` slots, behind the jobs `ahead` of it.
std::optional<std::vector<NodeRanks>> place_behind(std::span<const Waiting> ahead,
                                                   const JobRecord& record,
                                                   std::vector<NodeSlots> free) {
  for (const Waiting& other : ahead) {
    const auto theirs = place_by_choice(*other.record, free);
    take_all(free, theirs ? *theirs : other.record->placement);
  }
  return place_by_choice(record, free);
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
  return free_slots_without({}, nodes, jobs);
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

std::optional<std::vector<NodeRanks>> place_now(const Job& own, std::span<const NodeSlots> nodes,
                                                std::span<const Job> jobs) {
  const JobRecord& record = *own.record;
  if (!record.choice || !is_exclusive(record)) return std::nullopt;
  return place_behind(jobs_ahead(own, record, jobs), record, free_slots(nodes, jobs));
}

std::optional<std::vector<NodeRanks>> place_anywhere(const JobRecord& record) {
  if (!record.choice) return std::nullopt;
  return place_by_choice(record, record.choice->nodes);
}

namespace {

/// Adds the jobs that `own` waits for if its ranks are placed as in `record`. `is_full`: the slots
/// there are not enough.
void add_holders(const Job& own, const JobRecord& record, bool is_full, std::span<const Job> jobs,
                 std::vector<std::string>& waits_for) {
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
    if (is_in_the_way && !contains(waits_for, other.id)) waits_for.push_back(other.id);
  }
}

/// Returns true if there are slots for `own` once the jobs `ended` have ended.
bool has_room_without(std::span<const std::string> ended, const Job& own,
                      std::span<const NodeSlots> nodes, std::span<const Job> jobs) {
  const JobRecord& record = *own.record;
  std::vector<NodeSlots> free = free_slots_without(ended, nodes, jobs);
  if (!record.choice) return fits(record, nodes, free);
  return place_behind(jobs_ahead(own, record, jobs), record, std::move(free)).has_value();
}

/// Returns the record as if the job had a rank on each node of its choice.
JobRecord on_all_of_choice(JobRecord record) {
  record.placement.clear();
  for (const NodeSlots& node : record.choice->nodes)
    record.placement.push_back({.node = node.name, .first = 0, .count = 1});
  return record;
}

}  // namespace

Turn turn_of(const Job& own, std::span<const NodeSlots> nodes, std::span<const Job> jobs) {
  Turn turn;
  JobRecord record = *own.record;
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
  const auto place = place_now(own, nodes, jobs);
  if (place) record.placement = *place;
  std::vector<std::string> holders;
  const bool is_full = !fits(record, nodes, free_slots(nodes, jobs));
  add_holders(own, record, is_full, jobs, holders);
  // The end of any job on the nodes of its choice may make room.
  if (record.choice && !place && !holders.empty())
    add_holders(own, on_all_of_choice(record), true, jobs, holders);
  const std::vector<std::string> conditions = turn.waits_for;
  std::erase_if(holders, [&](const std::string& id) { return contains(conditions, id); });
  turn.waits_for.insert(turn.waits_for.end(), holders.begin(), holders.end());
  std::erase_if(holders, [&](const std::string& id) {
    return !has_slots(*std::ranges::find(jobs, id, &Job::id));
  });
  turn.holders = std::move(holders);
  if (!is_full && (place || !record.choice)) {
    turn.ends = record.part_ends;
    return turn;
  }
  turn.ends = ends_needed(turn.holders, [&](std::span<const std::string> some) {
    std::vector<std::string> ended = conditions;
    ended.insert(ended.end(), some.begin(), some.end());
    return has_room_without(ended, own, nodes, jobs);
  });
  return turn;
}

std::string words_for(const Turn& turn) {
  std::vector<std::string> others = turn.waits_for;
  std::erase_if(others, [&](const std::string& id) { return contains(turn.holders, id); });
  if (turn.ends == EndsNeeded::all || turn.holders.empty()) return joined(turn.waits_for);
  std::string words = joined(others);
  append_item(words, words_for(turn.holders, turn.ends));
  return words;
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
