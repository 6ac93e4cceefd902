#include "launcher/queue.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using state::Job;
using state::JobState;
using Ids = std::vector<std::string>;

/// Two nodes with four slots each.
const std::vector<NodeSlots> kNodes = {{{"n-0"}, 4}, {{"n-1"}, 4}};

/// A job with `first` ranks on n-0 and `second` on n-1.
Job job(const std::string& id, JobState state, int first, int second, int priority = 0,
        Sharing sharing = Sharing::exclusive, Ids after = {}) {
  JobRecord record;
  record.spec = {.name = {"j"},
                 .argv = {"x"},
                 .sharing = sharing,
                 .priority = priority,
                 .after = std::move(after)};
  if (first > 0) record.placement.push_back({{"n-0"}, 0, first});
  if (second > 0) record.placement.push_back({{"n-1"}, first, second});
  Job made;
  made.id = id;
  made.cluster = {"c"};
  made.state = state;
  made.record = record;
  return made;
}

/// Returns what the job waits for. `jobs` has the newest first.
Ids waits(const std::vector<Job>& jobs, const std::string& id) {
  for (const Job& one : jobs)
    if (one.id == id) return turn_of(one, kNodes, jobs).waits_for;
  return {"it is not there"};
}

TEST_SUITE_BEGIN("launcher/queue");

TEST_CASE("a job waits for those that have its slots, and for no others") {
  const std::vector<Job> jobs = {job("small", JobState::queued, 1, 0),
                                 job("large", JobState::queued, 0, 3),
                                 job("ended", JobState::failed, 4, 4),
                                 job("shares", JobState::running, 4, 4, 0, Sharing::shared),
                                 job("runs", JobState::running, 3, 2)};
  CHECK(waits(jobs, "small").empty());
  CHECK(waits(jobs, "large") == Ids{"runs"});
}

TEST_CASE("jobs that wait for the same node keep their order, unless one has priority") {
  const std::vector<Job> jobs = {
      job("urgent", JobState::queued, 4, 0, 1), job("third", JobState::queued, 1, 0),
      job("second", JobState::queued, 4, 0), job("elsewhere", JobState::queued, 0, 4),
      job("first", JobState::running, 1, 0)};
  CHECK(waits(jobs, "urgent") == Ids{"first"});
  CHECK(waits(jobs, "second") == Ids{"urgent", "first"});
  CHECK(waits(jobs, "third") == Ids{"urgent", "second"});
  CHECK(waits(jobs, "elsewhere").empty());
}

TEST_CASE("a job that shares waits for no slots, and one with more ranks than slots for all") {
  const std::vector<Job> jobs = {job("crowded", JobState::queued, 9, 0),
                                 job("shares", JobState::queued, 4, 4, 0, Sharing::shared),
                                 job("runs", JobState::starting, 1, 0)};
  CHECK(waits(jobs, "shares").empty());
  CHECK(waits(jobs, "crowded") == Ids{"runs"});
  CHECK(waits({job("crowded", JobState::queued, 9, 0)}, "crowded").empty());
}

TEST_CASE("a job starts after others, and not at all after one that failed") {
  const auto turn = [](JobState before) {
    const std::vector<Job> jobs = {
        job("own", JobState::queued, 1, 0, 0, Sharing::exclusive, {"before"}),
        job("before", before, 0, 1)};
    return turn_of(jobs[0], kNodes, jobs);
  };
  CHECK(turn(JobState::running).waits_for == Ids{"before"});
  CHECK(turn(JobState::queued).waits_for == Ids{"before"});
  CHECK(turn(JobState::succeeded).waits_for.empty());
  CHECK(turn(JobState::succeeded).never.empty());
  for (const JobState bad : {JobState::failed, JobState::cancelled, JobState::lost})
    CHECK(turn(bad).never == "job before, after which it was to start, did not succeed");
  const Job alone = job("own", JobState::queued, 1, 0, 0, Sharing::exclusive, {"gone"});
  CHECK(turn_of(alone, kNodes, std::vector{alone}).never ==
        "job gone, after which it was to start, was deleted");
}

TEST_CASE("a job that is started again does not need the jobs before it once more") {
  Job own = job("own", JobState::queued, 1, 0, 0, Sharing::exclusive, {"gone"});
  JobRecord record = *own.record;
  record.restarts = 1;
  own.record = record;
  CHECK(turn_of(own, kNodes, std::vector{own}).never.empty());
  CHECK(starting_after("gone", std::vector{own}).empty());
  const std::vector<Job> jobs = {job("other", JobState::queued, 8, 0), own};
  CHECK(waits(jobs, "other") == Ids{"own"});
}

TEST_CASE("the jobs that start after a job or its array are found, an array once") {
  const std::vector<Job> jobs = {
      job("b-1.2", JobState::queued, 1, 0, 0, Sharing::exclusive, {"a-1.1"}),
      job("b-1.1", JobState::queued, 1, 0, 0, Sharing::exclusive, {"a-1.1"}),
      job("c-1", JobState::queued, 1, 0, 0, Sharing::exclusive, {"x-1", "a-1"}),
      job("d-1", JobState::running, 1, 0, 0, Sharing::exclusive, {"a-1"}),
      job("e-1", JobState::queued, 1, 0)};
  CHECK(starting_after("a-1.1", jobs) == Ids{"b-1", "c-1"});
  CHECK(starting_after("a-1.2", jobs) == Ids{"c-1"});
  CHECK(starting_after("x-1", jobs) == Ids{"c-1"});
  CHECK(starting_after("e-1", jobs).empty());
}

/// A job that waits with `ranks` ranks for either node, and would go to n-0 at first.
Job chooser(const std::string& id, int ranks, int priority = 0) {
  Job made = job(id, JobState::queued, ranks, 0, priority);
  JobRecord record = *made.record;
  record.choice = PlaceChoice{.nodes = kNodes};
  made.record = record;
  return made;
}

/// Returns where place_now() places the job of `jobs`: "n-0:1 n-1:2"; "none" for no place.
std::string placed(const std::vector<Job>& jobs, const std::string& id,
                   const std::vector<NodeSlots>& nodes = kNodes) {
  for (const Job& one : jobs) {
    if (one.id != id) continue;
    const auto placement = place_now(one, nodes, jobs);
    if (!placement) return "none";
    std::string text;
    for (const NodeRanks& ranks : *placement)
      text += (text.empty() ? "" : " ") + ranks.node.value + ":" + std::to_string(ranks.count);
    return text;
  }
  return "it is not there";
}

TEST_CASE("a job with a choice of nodes begins where slots are free, whatever its placement was") {
  const std::vector<Job> jobs = {chooser("second", 4), chooser("first", 4)};
  CHECK(placed(jobs, "first") == "n-0:4");
  CHECK(placed(jobs, "second") == "n-1:4");
  const std::vector<Job> later = {chooser("second", 4), job("first", JobState::running, 4, 0)};
  CHECK(placed(later, "second") == "n-1:4");
  CHECK(waits(later, "second").empty());
}

TEST_CASE("a job with a choice takes no place from those that are ahead of it") {
  const std::vector<Job> jobs = {chooser("young", 3), chooser("old", 3),
                                 job("runs", JobState::running, 4, 0)};
  CHECK(placed(jobs, "old") == "n-1:3");
  CHECK(placed(jobs, "young") == "none");
  CHECK(waits(jobs, "old").empty());
  CHECK(waits(jobs, "young") == Ids{"old", "runs"});
  const std::vector<Job> urgent = {chooser("young", 3, 5), chooser("old", 3),
                                   job("runs", JobState::running, 4, 0)};
  CHECK(placed(urgent, "young") == "n-1:3");
  CHECK(placed(urgent, "old") == "none");
}

TEST_CASE("a job with a choice waits for all jobs that may make room for it") {
  const std::vector<Job> jobs = {chooser("waits", 3), job("b", JobState::running, 0, 4),
                                 job("a", JobState::running, 4, 0)};
  CHECK(placed(jobs, "waits") == "none");
  CHECK(waits(jobs, "waits") == Ids{"a", "b"});
}

/// Returns what messages say that the job waits for.
std::string words(const std::vector<Job>& jobs, const std::string& id) {
  for (const Job& one : jobs)
    if (one.id == id) return words_for(turn_of(one, kNodes, jobs));
  return "it is not there";
}

TEST_CASE("a job that needs the end of one job, whichever it is, does not wait for all") {
  const auto running = [](int of_a, int of_b) {
    return std::vector<Job>{chooser("waits", 3), job("b", JobState::running, 0, of_b),
                            job("a", JobState::running, of_a, 0)};
  };
  CHECK(words(running(4, 4), "waits") == "one of a, b");
  CHECK(words({job("waits", JobState::queued, 4, 0), job("b", JobState::running, 2, 0),
               job("a", JobState::running, 1, 0)},
              "waits") == "b, a");
  CHECK(words({chooser("waits", 8), job("b", JobState::running, 0, 4),
               job("a", JobState::running, 4, 0)},
              "waits") == "a, b");
  CHECK(words({chooser("waits", 4), job("c", JobState::running, 0, 2),
               job("b", JobState::running, 0, 2), job("a", JobState::running, 4, 0)},
              "waits") == "some of a, c, b");
}

TEST_CASE("jobs that are ahead, or that it starts after, are named beside those that have slots") {
  const std::vector<Job> behind = {chooser("young", 4), chooser("old", 4),
                                   job("b", JobState::running, 0, 4),
                                   job("a", JobState::running, 4, 0)};
  CHECK(words(behind, "old") == "one of a, b");
  CHECK(words(behind, "young") == "old, a, b");
  Job after = chooser("after", 4);
  JobRecord record = *after.record;
  record.spec.after = {"before"};
  after.record = record;
  const std::vector<Job> jobs = {after, job("b", JobState::running, 0, 4),
                                 job("a", JobState::running, 3, 0),
                                 job("before", JobState::running, 1, 0)};
  CHECK(words(jobs, "after") == "before, one of a, b");
}

TEST_CASE("a job waits for as many of those that hold its GPUs as its record has it") {
  Job own = job("own", JobState::queued, 1, 0);
  JobRecord record = *own.record;
  record.part_holders = {"a", "b"};
  record.part_ends = EndsNeeded::one;
  own.record = record;
  const std::vector<Job> jobs = {own, job("b", JobState::running, 1, 0),
                                 job("a", JobState::running, 1, 0)};
  CHECK(words(jobs, "own") == "one of b, a");
  CHECK(words({own, jobs[1]}, "own") == "b");
}

TEST_CASE("a large job keeps the nodes that it waits for, and small ones pass it elsewhere") {
  const std::vector<NodeSlots> nodes = {{{"n-0"}, 4}, {{"n-1"}, 4}, {{"n-2"}, 4}};
  const auto choosing = [&](const std::string& id, int first, int second) {
    Job made = job(id, JobState::queued, first, second);
    JobRecord record = *made.record;
    record.choice = PlaceChoice{.nodes = nodes};
    made.record = record;
    return made;
  };
  std::vector<Job> jobs = {choosing("small", 2, 0), choosing("large", 4, 4),
                           job("runs", JobState::running, 4, 4)};
  CHECK(placed(jobs, "large", nodes) == "none");
  CHECK(placed(jobs, "small", nodes) == "n-2:2");
  jobs.back() = job("runs", JobState::running, 0, 4);
  CHECK(placed(jobs, "large", nodes) == "n-0:4 n-2:4");
  CHECK(placed(jobs, "small", nodes) == "none");
}

TEST_CASE("a job with a choice goes to a silent node only if it has no other place") {
  std::vector<NodeSlots> nodes = kNodes;
  nodes[0].is_silent = true;
  const std::vector<Job> jobs = {chooser("own", 2)};
  CHECK(placed(jobs, "own", nodes) == "n-1:2");
  CHECK(turn_of(jobs[0], nodes, jobs).waits_for.empty());
  const std::vector<Job> large = {chooser("own", 4), job("runs", JobState::running, 0, 4)};
  CHECK(placed(large, "own", nodes) == "none");
  const std::vector<Job> whole = {job("own", JobState::queued, 4, 4)};
  CHECK(turn_of(whole[0], nodes, whole).waits_for.empty());
}

TEST_CASE("a job of torchrun is placed by its workers, and --npernode is kept") {
  Job own = chooser("own", 1);
  JobRecord record = *own.record;
  record.spec.launcher = Launcher::torchrun;
  record.placement[0].workers = 4;
  record.choice->per_node = 2;
  own.record = record;
  const auto placement = place_now(own, kNodes, std::vector{own});
  REQUIRE(placement);
  REQUIRE(placement->size() == 2);
  CHECK((*placement)[1].workers == 2);
  CHECK((*placement)[1].first == 1);
  CHECK((*placement)[1].count == 1);
}

TEST_CASE("ranks go where slots are free, all of them or none") {
  const std::vector<Job> jobs = {job("runs", JobState::running, 3, 0)};
  const auto where = [&](JobSpec spec) {
    std::string text;
    for (const NodeRanks& node : place_in_queue(kNodes, jobs, spec))
      text += node.node.value + ":" + std::to_string(node.count) + " ";
    return text;
  };
  const auto with = [](std::optional<int> ranks, std::optional<int> per_node = {}) {
    return JobSpec{.name = {"j"}, .argv = {"x"}, .ranks = ranks, .per_node = per_node};
  };
  CHECK(where(with(2)) == "n-0:1 n-1:1 ");
  CHECK(where(with(5)) == "n-0:1 n-1:4 ");
  CHECK(where(with(6)) == "n-0:4 n-1:2 ");
  CHECK(where(with({})) == "n-0:4 n-1:4 ");
  CHECK(where(with(1, 1)) == "n-0:1 ");
  CHECK(where(with(2, 2)) == "n-0:1 n-1:1 ");
  JobSpec shared = with(2);
  shared.sharing = Sharing::shared;
  CHECK(where(shared) == "n-0:2 ");
  CHECK(test::failure_of([&] { place_in_queue(kNodes, jobs, with(9)); }).kind() ==
        ErrorKind::usage);
}

/// An element of an array on n-0.
Job element(const std::string& id, JobState state, int ranks, bool is_due) {
  Job made = job(id, state, ranks, 0);
  JobRecord record = *made.record;
  record.spec.array = state::ArrayElement{.index = 1, .count = 3, .is_due = is_due};
  made.record = record;
  return made;
}

/// The same job, whose ranks on n-0 hold these GPUs and CPUs.
Job with_parts(Job made, std::vector<int> gpus, std::vector<std::string> cpus) {
  JobRecord record = *made.record;
  record.placement[0].gpus = std::move(gpus);
  record.placement[0].cpus = std::move(cpus);
  made.record = record;
  return made;
}

TEST_CASE("running jobs hold their cores and GPUs, unless they share them") {
  const std::vector<Job> jobs = {
      with_parts(job("waits", JobState::queued, 1, 0), {3}, {"6"}),
      with_parts(job("runs", JobState::running, 2, 1), {2, 0}, {"4-5", "0-1"}),
      with_parts(job("starts", JobState::starting, 1, 0), {}, {"7"}),
      with_parts(job("shares", JobState::running, 1, 0, 0, Sharing::shared), {1}, {"2"}),
      with_parts(job("damaged", JobState::running, 1, 0), {1}, {"x"}),
      with_parts(job("ended", JobState::succeeded, 1, 0), {1}, {"3"}),
      job("free", JobState::running, 1, 0)};
  const auto held = held_parts(jobs);
  REQUIRE(held.size() == 2);
  CHECK(held[0].job == "runs");
  CHECK(held[0].node == NodeName{"n-0"});
  CHECK(held[0].gpus == std::vector<int>{0, 2});
  CHECK(held[0].cpus == std::vector<int>{0, 1, 4, 5});
  CHECK(held[1].job == "starts");
}

TEST_CASE("a job waits for those that hold its cores or GPUs, as long as they run") {
  Job own = job("own", JobState::queued, 1, 0);
  JobRecord record = *own.record;
  record.part_holders = {"runs", "ended"};
  own.record = record;
  const std::vector<Job> jobs = {own, job("ended", JobState::failed, 1, 0),
                                 job("runs", JobState::running, 1, 0),
                                 job("beside", JobState::running, 1, 0)};
  CHECK(waits(jobs, "own") == Ids{"runs"});
}

TEST_CASE("an element that its array holds back is ahead of no other job") {
  const std::vector<Job> jobs = {
      job("younger", JobState::queued, 1, 0), element("a-1.3", JobState::queued, 4, false),
      element("a-1.2", JobState::queued, 4, true), element("a-1.1", JobState::running, 2, true)};
  CHECK(waits(jobs, "younger") == Ids{"a-1.2"});
  CHECK(waits({jobs[0], jobs[1], jobs[3]}, "younger").empty());
  CHECK(waits(jobs, "a-1.2") == Ids{"a-1.1"});
}

TEST_CASE("a job has no place in the queue before those have succeeded that it starts after") {
  const auto jobs = [](JobState before) {
    return std::vector<Job>{job("other", JobState::queued, 4, 4),
                            job("after", JobState::queued, 4, 0, 1, Sharing::exclusive, {"low"}),
                            job("low", before, 4, 4, -5)};
  };
  CHECK(waits(jobs(JobState::running), "after") == Ids{"low"});  // For its end, and its slots.
  // The one of low priority, after which the other starts, would wait for it for ever.
  CHECK(waits(jobs(JobState::queued), "low") == Ids{"other"});
  CHECK(waits(jobs(JobState::queued), "other").empty());
  CHECK(waits(jobs(JobState::queued), "after") == Ids{"low"});
  CHECK(waits(jobs(JobState::succeeded), "other") == Ids{"after"});
  CHECK(waits(jobs(JobState::failed), "other").empty());
}

TEST_CASE("a job starts after all jobs of an array, and not at all if one of them has failed") {
  const auto turn = [](JobState second) {
    const std::vector<Job> jobs = {
        job("own", JobState::queued, 1, 0, 0, Sharing::exclusive, {"a-1"}),
        element("a-1.2", second, 1, true), element("a-1.1", JobState::succeeded, 1, true)};
    return turn_of(jobs[0], kNodes, jobs);
  };
  CHECK(turn(JobState::running).waits_for == Ids{"a-1"});
  CHECK(turn(JobState::succeeded).waits_for.empty());
  CHECK(turn(JobState::succeeded).never.empty());
  CHECK(turn(JobState::cancelled).never == "job a-1, after which it was to start, did not succeed");
}

TEST_CASE("a job fits now if enough slots are free") {
  JobSpec spec{.name = {"j"}, .argv = {"x"}, .ranks = 5};
  CHECK(fits_now(kNodes, std::vector{job("runs", JobState::running, 3, 0)}, spec));
  CHECK_FALSE(fits_now(kNodes, std::vector{job("runs", JobState::running, 4, 0)}, spec));
  spec.sharing = Sharing::shared;
  CHECK(fits_now(kNodes, std::vector{job("runs", JobState::running, 4, 4)}, spec));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
