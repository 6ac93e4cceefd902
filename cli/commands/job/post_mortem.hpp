// The bundle that is made of a job that has ended badly.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/shared/out_directory.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/job_evidence.hpp"

namespace fastgpu::cli {

/// Returns the files of the bundle, by their paths in it. `assignments` are the variables that the
/// user gave to the ranks; the values of those in `secrets`, and of those whose names sound like a
/// secret, are left out. Pure.
std::map<std::string, std::string> bundle_of(const JobEvidence& evidence,
                                             const std::vector<std::string>& assignments,
                                             const std::set<std::string>& secrets);

/// The directory of a bundle, and the parts beside the job that it needs: see bundle_of(). Borrows
/// all.
struct PostMortem {
  const OutDirectory& directory;
  const std::vector<std::string>& assignments;
  const std::set<std::string>& secrets;
};

/// Writes the bundle of the last run of a job into a new directory below `request.directory`, and
/// shows its path. Warns if that fails, and records it.
void write_post_mortem(Context& context, const std::string& job_id, const PostMortem& request);

/// Does the same for a run that has ended badly, and after which the job is started again.
void write_post_mortem_of_run(Context& context, const OpenJob& run, const PostMortem& request);

}  // namespace fastgpu::cli
