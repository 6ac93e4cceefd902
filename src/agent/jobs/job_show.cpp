// `job-show`: prints what a machine that did not start a job needs to follow it.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "agent/files/disk.hpp"
#include "agent/jobs/job_place.hpp"
#include "agent/options.hpp"
#include "agent/protocol/found_job.hpp"
#include "agent/subcommands.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// Returns the number of the last run of a job whose runs are the folders "ID", "ID.r1", "ID.r2".
int last_run(const std::string& id) {
  int last = 0;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(below_home(kJobs), none)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(id + ".r") || !entry.is_directory(none)) continue;
    last = std::max(last, to_number<int>(std::string_view(name).substr(id.size() + 2)).value_or(0));
  }
  return last;
}

FoundJob find_job(const std::string& id) {
  FoundJob job{.ranks = {}, .restarts = last_run(id)};
  const std::string run = job.restarts == 0 ? id : id + ".r" + std::to_string(job.restarts);
  const fs::path directory = below_home(kJobs) / run;
  const auto ranks = read_file(directory / "rank");
  if (!ranks)
    throw Error(ErrorKind::not_found,
                directory.string() + ": the job has not begun there, or its folder was removed");
  job.ranks = parse_plan(*ranks);
  job.ranks.environment.clear();
  const auto spec = read_file(directory / "spec");
  if (!spec) return job;
  const JobPlan plan = parse_plan(*spec);
  job.is_head = true;
  job.has_lease = plan.lease.count() > 0;
  job.is_plain = plan.argv.front() == "/bin/sh";
  job.timeout = plan.timeout;
  return job;
}

}  // namespace

int run_job_show(Arguments arguments) {
  OptionReader options(arguments);
  const std::string id = options.take_word("the job's id");
  options.expect_end();
  if (id.empty() || id.find('/') != std::string::npos || id.starts_with('.'))
    throw Error(ErrorKind::usage, "'" + printable(id) + "' is not the id of a job");
  write_all(STDOUT_FILENO, to_text(find_job(id)));
  return 0;
}

}  // namespace fastgpu::agent
