#include "cli/workflows/end_work.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/workflows/job_owner.hpp"
#include "launcher/job_store.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kEndWorkPause{200};

/// Returns the work on record that is to be done; empty for none, and if the record cannot be read.
std::string recorded_work(const state::Job& job) try {
  if (!launcher::has_ended(job)) return {};
  const bool is_bad = job.state != state::JobState::succeeded && !job.record->never_began;
  if (is_bad && job.record->bundle_awaited) return "its post-mortem is being written";
  return job.record->outputs == state::Outputs::awaited ? "its outputs are being copied" : "";
} catch (const Error&) {
  return {};
}

/// Records that what was awaited does not come, because its fastgpu has ended.
void note_undone(state::Store& store, const state::Job& job) {
  if (job.record->bundle_awaited)
    launcher::note_bundle(store, job.id, "no post-mortem: the fastgpu that ran the job has ended");
  if (job.record->outputs == state::Outputs::awaited)
    launcher::note_outputs(store, job.id, state::Outputs::incomplete,
                           "its outputs were not copied: the fastgpu that ran it has ended");
}

}  // namespace

std::string end_work_to_come(Services& services, const state::Job& job) {
  const std::string work = recorded_work(job);
  const bool has_owner = !work.empty() && !JobOwner(services.state_directory(), job.id).held();
  return has_owner ? work : "";
}

std::vector<std::string> work_not_done(const state::Job& job) try {
  return job.record->not_done;
} catch (const Error&) {
  return {};
}

state::Job with_end_work(Services& services, const state::Job& ended,
                         std::optional<std::chrono::milliseconds> limit) {
  const auto deadline = services.clock().now() + limit.value_or(std::chrono::milliseconds(0));
  state::Job job = ended;
  while (!recorded_work(job).empty()) {
    const bool has_owner = !JobOwner(services.state_directory(), job.id).held();
    job = services.store().find_job(job.id).value_or(job);
    const std::string work = recorded_work(job);
    if (work.empty()) break;
    if (!has_owner) {
      note_undone(services.store(), job);
      return services.store().find_job(job.id).value_or(job);
    }
    services.messages().progress("job " + job.id + " has ended; " + work);
    services.cancel().check();
    if (limit && services.clock().now() >= deadline)
      throw Error(ErrorKind::timeout,
                  "job " + job.id + " has ended, and after " + to_string(*limit) + " " + work);
    services.clock().sleep(kEndWorkPause);
  }
  return job;
}

}  // namespace fastgpu::cli
