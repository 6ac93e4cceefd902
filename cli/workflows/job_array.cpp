#include "cli/workflows/job_array.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/lookup.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the jobs of the array, by their index; empty if the array has none.
std::vector<state::Job> elements_of(Services& services, std::string_view array) {
  std::vector<state::Job> elements;
  for (state::Job& job : services.store().jobs())
    if (launcher::array_of(job.id) == array) elements.push_back(std::move(job));
  std::ranges::reverse(elements);  // The store has the newest first.
  return elements;
}

}  // namespace

std::vector<state::Job> find_jobs(Services& services, std::string_view name) {
  const std::string id = find_run(services, name);
  if (auto job = services.store().find_job(id)) return {std::move(*job)};
  return elements_of(services, id);
}

std::string find_run(Services& services, std::string_view name) {
  if (services.store().find_job(std::string(name))) return std::string(name);
  for (const state::Job& job : services.store().jobs()) {
    const std::string array = launcher::array_of(job.id);
    const bool is_named = job.id.substr(0, job.id.rfind('-')) == name;
    if (array.empty() && is_named) return job.id;
    if (!array.empty() && (is_named || array == name)) return array;
  }
  return find_job(services, name).id;  // Throws.
}

RecordedArray record_array(Services& services, const state::ClusterId& cluster,
                           const launcher::JobRecord& record,
                           const std::vector<launcher::ArrayElement>& elements) {
  RecordedArray array;
  state::Store& store = services.store();
  store.wait_longer(kWaitForOthers);
  store.atomically([&] {  // The jobs must not be visible before they have an owner.
    array.id = store.take_job_id(record.spec.name);
    array.owner = std::make_unique<JobOwner>(services.state_directory(), array.id);
    array.jobs.clear();
    for (const launcher::ArrayElement& element : elements) {
      launcher::JobRecord own = record;
      own.spec.array = element;
      state::Job job{.id = launcher::element_id(array.id, element.index), .cluster = cluster};
      job.record = std::move(own);
      job.state = state::JobState::queued;
      job.created = std::chrono::system_clock::now();
      store.insert_job_as(job);
      array.jobs.push_back(job.id);
    }
  });
  return array;
}

state::Job make_due(Services& services, const std::string& id, launcher::JobRecord record) {
  state::Job job;
  services.store().atomically([&] {
    const auto stored = services.store().find_job(id);
    if (!stored || launcher::has_ended(*stored))
      throw Error(ErrorKind::interrupted, "job " + id + " was cancelled before its turn");
    job = *stored;
    record.spec.array = job.record->spec.array;
    if (record.spec.array) record.spec.array->is_due = true;
    job.record = record;
    services.store().update_job(job);
  });
  return job;
}

std::vector<std::string> variables_of_element(const state::Job& job) {
  const auto& element = job.record->spec.array;
  if (!element) return {};
  std::vector<std::string> variables = {"FASTGPU_ARRAY_ID=" + launcher::array_of(job.id),
                                        "FASTGPU_ARRAY_INDEX=" + std::to_string(element->index),
                                        "FASTGPU_ARRAY_COUNT=" + std::to_string(element->count)};
  variables.insert(variables.end(), element->variables.begin(), element->variables.end());
  return variables;
}

}  // namespace fastgpu::cli
