// `job-usage`: prints how busy this node was during a job, and what its ranks have counted.
#include "agent/jobs/job_usage.hpp"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <system_error>

#include "agent/files/disk.hpp"
#include "agent/jobs/usage_sampler.hpp"
#include "agent/options.hpp"
#include "agent/protocol/records.hpp"
#include "agent/subcommands.hpp"
#include "base/contains.hpp"
#include "base/numbers.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRankFiles = 1'024;
constexpr std::size_t kMostOfCounters = 16'384;

fs::path folders_file(const fs::path& job_directory) {
  return samples_file(job_directory).string() + ".folders";
}

/// Returns the rank in a name "rank-7.json"; absent for any other name.
std::optional<int> rank_of_file(const std::string& name) {
  constexpr std::string_view kBefore = "rank-", kAfter = ".json";
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter)) return std::nullopt;
  return to_number<int>(
      std::string_view(name).substr(kBefore.size(), name.size() - kBefore.size() - kAfter.size()));
}

struct RankFile {
  int rank = 0;
  fs::path path;
  std::uint64_t size = 0;
};

/// Returns the files of ranks in a folder that this job has written, sorted.
std::vector<RankFile> rank_files_in(const std::string& folder, const fs::path& job_directory) {
  std::vector<RankFile> files;
  const auto text = read_file(job_directory / "rank");
  const auto plan = text ? std::optional(parse_plan(*text)) : std::nullopt;
  std::error_code none;
  const auto began = fs::last_write_time(job_directory / "rank", none);
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const auto rank = rank_of_file(entry.path().filename());
    if (!rank || !entry.is_regular_file(none) || entry.last_write_time(none) < began) continue;
    // The folder may be shared with other nodes. The numbers of torchrun's workers are its own.
    const bool is_elsewhere = plan && !plan->starts_workers && !contains(plan->ranks, *rank);
    if (is_elsewhere || files.size() == kMostRankFiles) continue;
    files.push_back({.rank = *rank, .path = entry.path(), .size = entry.file_size(none)});
  }
  std::ranges::sort(files, {}, &RankFile::rank);
  return files;
}

/// Returns the folder that a variable names, for a program that runs in `directory`.
std::string folder_in(const std::vector<std::string>& environment, const char* name,
                      const fs::path& directory) {
  const auto value = process::variable(environment, name);
  return value && !value->empty() ? (directory / *value).string() : "";
}

}  // namespace

void note_comm_folders(const fs::path& job_directory, const JobPlan& plan,
                       const std::vector<std::string>& environment) noexcept try {
  const fs::path directory = below_home(plan.directory);
  const std::string counters = folder_in(environment, "FASTGPU_COMM_COUNTERS", directory);
  const std::string timeline = folder_in(environment, "FASTGPU_COMM_TIMELINE", directory);
  if (counters.empty() && timeline.empty()) return;
  Records records;
  records.add("counters", counters);
  records.add("timeline", timeline);
  make_private_directory(folders_file(job_directory).parent_path());
  write_atomically(folders_file(job_directory), records.text());
} catch (const std::exception&) {
  return;
}

JobUsage read_job_usage(const fs::path& job_directory) {
  JobUsage usage{.samples = parse_samples(read_file(samples_file(job_directory)).value_or(""))};
  const auto folders = read_file(folders_file(job_directory));
  if (!folders) return usage;
  const Records records(*folders, "the folders of a job");
  for (const RankFile& file : rank_files_in(records.get("counters"), job_directory))
    if (file.size <= kMostOfCounters)
      usage.counters.push_back({.rank = file.rank, .json = read_file(file.path).value_or("")});
  for (const RankFile& file : rank_files_in(records.get("timeline"), job_directory))
    usage.timelines.push_back({.rank = file.rank, .path = file.path.string(), .size = file.size});
  return usage;
}

int run_job_usage(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = below_home(options.take_word("the job's directory"));
  options.expect_end();
  if (!fs::exists(directory))
    throw Error(ErrorKind::not_found,
                directory.string() + ": the job has not begun there, or its folder was removed");
  write_all(STDOUT_FILENO, to_text(read_job_usage(directory)));
  return 0;
}

}  // namespace fastgpu::agent
