#include "launcher/job_folders.hpp"

namespace fastgpu::launcher {

agent::JobFolders folders_of_jobs(const NodeAnswer& answer) {
  check({answer}, "listing the folders of jobs");
  return agent::parse_job_folders(answer.out);
}

}  // namespace fastgpu::launcher
