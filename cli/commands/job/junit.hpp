// The outcomes of jobs as a JUnit report, which CI systems show. Pure.
#pragma once

#include <map>
#include <span>
#include <string>

#include "cli/commands/show/job_views.hpp"

namespace fastgpu::cli {

/// Returns the report: one test case for each job, with its cluster as the class. A job that
/// failed, was cancelled or lost is a failure with its reason; one that has not ended is an error.
/// `unasked` has the errors of jobs that could not be asked, by their ids: that is their reason.
std::string junit_report(std::span<const JobAndCluster> jobs, state::TimePoint now,
                         const std::map<std::string, std::string>& unasked = {});

}  // namespace fastgpu::cli
