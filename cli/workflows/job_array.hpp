// Arrays of jobs, as the state directory records them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/workflows/job_access.hpp"
#include "cli/workflows/job_owner.hpp"
#include "launcher/array.hpp"

namespace fastgpu::cli {

/// Returns the jobs that `name` means: the job with this id, all jobs of the array with this id, or
/// those of the newest run of this name. Throws not_found.
std::vector<state::Job> find_jobs(Services& services, std::string_view name);

/// Returns the id of the job or array that `name` means. Throws not_found.
std::string find_run(Services& services, std::string_view name);

/// An array on record. It belongs to this process while `owner` lives.
struct RecordedArray {
  std::string id;
  std::vector<std::string> jobs;  ///< The ids of its elements, by their index.
  std::unique_ptr<JobOwner> owner;
};

/// Records an array whose jobs wait. `record` is that of each of them, without its element.
RecordedArray record_array(Services& services, const state::ClusterId& cluster,
                           const launcher::JobRecord& record,
                           const std::vector<launcher::ArrayElement>& elements);

/// Makes a recorded element a job that waits for its turn: `record` has its ranks placed. Returns
/// it. Throws interrupted if it has been cancelled.
state::Job make_due(Services& services, const std::string& id, launcher::JobRecord record);

/// Returns the variables of an element for its ranks.
std::vector<std::string> variables_of_element(const state::Job& job);

}  // namespace fastgpu::cli
