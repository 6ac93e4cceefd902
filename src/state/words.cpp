#include "state/words.hpp"

#include <array>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::state {
namespace {

template <class State>
using Word = std::pair<State, std::string_view>;

constexpr std::array<Word<ClusterState>, 5> kClusterWords = {{
    {ClusterState::creating, "creating"},
    {ClusterState::running, "running"},
    {ClusterState::stopped, "stopped"},
    {ClusterState::degraded, "degraded"},
    {ClusterState::deleting, "deleting"},
}};
constexpr std::array<Word<NodeState>, 5> kNodeWords = {{
    {NodeState::creating, "creating"},
    {NodeState::running, "running"},
    {NodeState::stopped, "stopped"},
    {NodeState::lost, "lost"},
    {NodeState::deleting, "deleting"},
}};
constexpr std::array<Word<JobState>, 7> kJobWords = {{
    {JobState::queued, "queued"},
    {JobState::starting, "starting"},
    {JobState::running, "running"},
    {JobState::succeeded, "succeeded"},
    {JobState::failed, "failed"},
    {JobState::cancelled, "cancelled"},
    {JobState::lost, "lost"},
}};

constexpr std::array<Word<Launcher>, 3> kLauncherWords = {{
    {Launcher::mpirun, "mpirun"},
    {Launcher::torchrun, "torchrun"},
    {Launcher::plain, "plain"},
}};
constexpr std::array<Word<EngineKind>, 3> kEngineWords = {{
    {EngineKind::mpirun, "mpirun"},
    {EngineKind::slurm, "slurm"},
    {EngineKind::kubernetes, "kubernetes"},
}};

constexpr std::array<Word<JobEndCause>, 9> kCauseWords = {{
    {JobEndCause::none, "none"},
    {JobEndCause::failure, "failure"},
    {JobEndCause::launcher, "launcher"},
    {JobEndCause::node_loss, "node-loss"},
    {JobEndCause::preempted, "preempted"},
    {JobEndCause::hang, "hang"},
    {JobEndCause::timeout, "timeout"},
    {JobEndCause::cancelled, "cancelled"},
    {JobEndCause::contact, "lost-contact"},
}};

constexpr std::array<Word<Outputs>, 4> kOutputsWords = {{
    {Outputs::none, "none"},
    {Outputs::awaited, "awaited"},
    {Outputs::fetched, "fetched"},
    {Outputs::incomplete, "incomplete"},
}};

constexpr std::array<Word<EndsNeeded>, 3> kEndsWords = {{
    {EndsNeeded::all, "all"},
    {EndsNeeded::some, "some"},
    {EndsNeeded::one, "one"},
}};
constexpr std::array<Word<RankUnit>, 5> kRankUnitWords = {{
    {RankUnit::none, "none"},
    {RankUnit::core, "core"},
    {RankUnit::numa, "numa"},
    {RankUnit::socket, "socket"},
    {RankUnit::gpu, "gpu"},
}};

constexpr std::array<Word<Scheduler>, 2> kSchedulerWords = {{
    {Scheduler::none, "none"},
    {Scheduler::slurm, "slurm"},
}};

template <class Words, class State>
std::string_view word_of(const Words& words, State state) {
  for (const auto& [value, word] : words)
    if (value == state) return word;
  return "unknown";
}

template <class State, class Words>
State state_of(const Words& words, std::string_view what, std::string_view text) {
  for (const auto& [value, word] : words)
    if (word == text) return value;
  throw Error(ErrorKind::local, "the state database holds an unknown " + std::string(what) +
                                    " state '" + printable(text) + "'");
}

}  // namespace

std::string_view to_string(ClusterState state) {
  return word_of(kClusterWords, state);
}
std::string_view to_string(NodeState state) {
  return word_of(kNodeWords, state);
}
std::string_view to_string(JobState state) {
  return word_of(kJobWords, state);
}
std::string_view to_string(Launcher launcher) {
  return word_of(kLauncherWords, launcher);
}
std::string_view to_string(EndsNeeded ends) {
  return word_of(kEndsWords, ends);
}
std::string_view to_string(RankUnit unit) {
  return word_of(kRankUnitWords, unit);
}

std::string_view to_string(JobEndCause cause) {
  return word_of(kCauseWords, cause);
}

std::string_view to_string(Outputs outputs) {
  return word_of(kOutputsWords, outputs);
}

std::string_view to_string(EngineKind engine) {
  return word_of(kEngineWords, engine);
}

std::string_view to_string(Scheduler scheduler) {
  return word_of(kSchedulerWords, scheduler);
}

ClusterState parse_cluster_state(std::string_view word) {
  return state_of<ClusterState>(kClusterWords, "cluster", word);
}
NodeState parse_node_state(std::string_view word) {
  return state_of<NodeState>(kNodeWords, "node", word);
}
JobState parse_job_state(std::string_view word) {
  return state_of<JobState>(kJobWords, "job", word);
}

Launcher parse_launcher(std::string_view word) {
  return state_of<Launcher>(kLauncherWords, "launcher", word);
}
EndsNeeded parse_ends_needed(std::string_view word) {
  return state_of<EndsNeeded>(kEndsWords, "number of ends", word);
}
RankUnit parse_rank_unit(std::string_view word) {
  return state_of<RankUnit>(kRankUnitWords, "rank unit", word);
}

JobEndCause parse_end_cause(std::string_view word) {
  return state_of<JobEndCause>(kCauseWords, "cause", word);
}

Outputs parse_outputs(std::string_view word) {
  return state_of<Outputs>(kOutputsWords, "output", word);
}

EngineKind parse_engine(std::string_view word) {
  return state_of<EngineKind>(kEngineWords, "engine", word);
}

Scheduler parse_scheduler(std::string_view word) {
  return state_of<Scheduler>(kSchedulerWords, "scheduler", word);
}

}  // namespace fastgpu::state
