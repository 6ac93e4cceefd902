#include "cli/workflows/queue_questions.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/contains.hpp"
#include "cli/workflows/job_access.hpp"

namespace fastgpu::cli {
namespace {

using state::JobState;

/// The nodes of jobs whose end is not awaited are asked less often than the state directory.
constexpr std::chrono::seconds kBetweenQuestions{3};
/// Nodes that do not answer take half a minute each. Between them the waiting job looks at its
/// turn.
constexpr std::chrono::seconds kAtATime{2};

bool may_run(const state::Job& job) {
  return job.state != JobState::queued && !launcher::has_ended(job);
}

/// Ends an attached job whose fastgpu has ended. Returns true if it is one.
bool end_if_abandoned(Services& services, const state::Job& job) {
  if (job.record->spec.presence != launcher::Presence::attached) return false;
  if (!JobOwner(services.state_directory(), job.id).held()) return false;
  end_abandoned(services, job);
  return true;
}

/// Asks whether a job has ended: the nodes of one that runs, and the lock of one that waits.
/// Returns why that is unknown: "the nodes of job first-1 do not answer: ..."; empty if there is an
/// answer.
std::string ask_about_one(Services& services, const state::Job& job) {
  std::string silence;
  try {
    if (!may_run(job) || !end_if_abandoned(services, job))
      silence = look_at_job(services, job, launcher::Asking::patiently).silence;
  } catch (const Error& e) {
    services.cancel().check();
    silence = e.what();
  }
  return silence.empty() ? "" : "the nodes of job " + job.id + " do not answer: " + silence;
}

/// Returns the jobs, and those of arrays, that are on record. A job is there once, also if both it
/// and its array are named.
std::vector<state::Job> recorded_jobs(const state::Store& store,
                                      const std::vector<std::string>& ids) {
  std::vector<state::Job> jobs;
  for (const std::string& id : ids)
    for (state::Job& job : store.jobs_of(id))
      if (!contains(jobs, job.id, &state::Job::id)) jobs.push_back(std::move(job));
  return jobs;
}

}  // namespace

std::string QueueQuestions::ask_about(const std::vector<std::string>& ids) {
  std::vector<state::Job> jobs = recorded_jobs(services_.store(), ids);
  for (state::Job& job : jobs)
    job = without_cut_preparation(services_, job);
  take_turns(jobs);
  std::erase_if(jobs, [&](const state::Job& job) {
    return launcher::has_ended(job) || (may_run(job) && !asked_here_.contains(job.id));
  });
  watch_ends(jobs);
  due_.merge(ends_.take_ends());
  const auto began = services_.clock().now();
  if (began >= ask_all_at_)
    for (const state::Job& job : jobs)
      due_.insert(job.id);
  std::map<std::string, std::string> silences;
  for (const state::Job& job : jobs) {
    std::string& silence = silences[job.id];
    if (services_.clock().now() - began < kAtATime && due_.erase(job.id) > 0)
      silence = ask_about_one(services_, job);
    else if (const auto known = silences_.find(job.id); known != silences_.end())
      silence = known->second;
  }
  silences_ = std::move(silences);
  if (began >= ask_all_at_) ask_all_at_ = services_.clock().now() + kBetweenQuestions;
  for (const auto& [id, silence] : silences_)
    if (!silence.empty()) return silence;
  return {};
}

/// Takes over those of the jobs that no other process asks about, and leaves those that have ended.
void QueueQuestions::take_turns(const std::vector<state::Job>& jobs) {
  std::map<std::string, std::unique_ptr<JobAsker>> wanted;
  for (const state::Job& job : jobs) {
    if (!may_run(job)) continue;
    auto& asker = wanted[job.id];
    if (const auto known = asked_here_.find(job.id); known != asked_here_.end())
      asker = std::move(known->second);
    else
      asker = std::make_unique<JobAsker>(services_.state_directory(), job.id);
    if (!asker->held()) wanted.erase(job.id);
  }
  asked_here_ = std::move(wanted);
}

/// Leaves out the jobs for which a fastgpu is responsible: it records their ends itself.
void QueueQuestions::watch_ends(std::vector<state::Job> jobs) {
  std::erase_if(jobs, [&](const state::Job& job) {
    if (!may_run(job)) return true;
    return !ends_.is_watched(job) && !JobOwner(services_.state_directory(), job.id).held();
  });
  ends_.watch(jobs);
}

}  // namespace fastgpu::cli
