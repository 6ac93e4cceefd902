#include "cli/commands/job/running_on.hpp"

namespace fastgpu::cli {
namespace {

Error with_job(const Error& error, const std::string& job, const std::string& how) {
  return {error.kind(), std::string(error.what()) + "; job " + job + " " + how +
                            ": fastgpu wait job " + job + " | fastgpu cancel job " + job};
}

}  // namespace

Error with_job_that_goes_on(const Error& error, const std::string& job) {
  return with_job(error, job, "goes on");
}

Error with_job_that_may_run(const Error& error, const std::string& job) {
  return with_job(error, job, "may run");
}

}  // namespace fastgpu::cli
