#include "cli/workflows/awaited_outputs.hpp"

#include <string>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/workflows/job_owner.hpp"
#include "launcher/job_store.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kOutputsPause{200};

/// Returns true if the outputs are awaited; false if the record cannot be read.
bool are_awaited(const state::Job& job) try {
  return launcher::has_ended(job) && job.record->outputs == state::Outputs::awaited;
} catch (const Error&) {
  return false;
}

}  // namespace

bool has_outputs_to_come(Services& services, const state::Job& job) {
  return are_awaited(job) && !JobOwner(services.state_directory(), job.id).held();
}

state::Job with_outputs(Services& services, const state::Job& ended,
                        std::optional<std::chrono::milliseconds> limit) {
  const auto deadline = services.clock().now() + limit.value_or(std::chrono::milliseconds(0));
  state::Job job = ended;
  while (are_awaited(job)) {
    const bool has_owner = !JobOwner(services.state_directory(), job.id).held();
    job = services.store().find_job(job.id).value_or(job);
    if (!has_owner && are_awaited(job)) {
      launcher::note_outputs(services.store(), job.id, state::Outputs::incomplete,
                             "its outputs were not copied: the fastgpu that ran it has ended");
      return services.store().find_job(job.id).value_or(job);
    }
    if (!are_awaited(job)) break;
    services.messages().progress("copying the outputs of job " + job.id);
    services.cancel().check();
    if (limit && services.clock().now() >= deadline)
      throw Error(ErrorKind::timeout, "job " + job.id + " has ended, and its outputs are still " +
                                          "being copied after " + to_string(*limit));
    services.clock().sleep(kOutputsPause);
  }
  return job;
}

}  // namespace fastgpu::cli
