// `job-usage` and `job-traces`: print how busy this node was during a job, what its ranks have
// counted, and the ends of their timelines.
#include "agent/jobs/job_usage.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
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
#include "base/unique_fd.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRankFiles = 1'024;
constexpr std::size_t kMostOfCounters = 16'384;
constexpr std::size_t kMostOfTrace = 1UL << 20U;

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

/// Returns at most `most` bytes at the end of a regular file; absent if it cannot be read. A
/// program of the job may have replaced it by something else, such as a pipe, since it was found.
std::optional<TraceEnd> read_trace_end(const RankFile& file, std::size_t most) {
  const UniqueFd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  TraceEnd end{.rank = file.rank, .size = size};
  end.text.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size, most)));
  std::size_t done = 0;
  const std::uint64_t from = size - end.text.size();
  while (done < end.text.size()) {
    const auto got = ::pread(fd.get(), end.text.data() + done, end.text.size() - done,
                             static_cast<off_t>(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  end.text.resize(done);
  return end;
}

/// Returns the folder that a variable names, for a program that runs in `directory`.
std::string folder_in(const std::vector<std::string>& environment, const char* name,
                      const fs::path& directory) {
  const auto value = process::variable(environment, name);
  return value && !value->empty() ? (directory / *value).string() : "";
}

/// Takes the directory of a job. Throws not_found if it does not exist.
fs::path take_job_directory(OptionReader& options) {
  const fs::path directory = below_home(options.take_word("the job's directory"));
  if (!fs::exists(directory))
    throw Error(ErrorKind::not_found,
                directory.string() + ": the job has not begun there, or its folder was removed");
  return directory;
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

std::vector<TraceEnd> read_trace_ends(const fs::path& job_directory, std::size_t most,
                                      const std::vector<int>& ranks) {
  const auto folders = read_file(folders_file(job_directory));
  if (!folders) return {};
  const Records records(*folders, "the folders of a job");
  std::vector<TraceEnd> ends;
  for (const RankFile& file : rank_files_in(records.get("timeline"), job_directory)) {
    if (!contains(ranks, file.rank)) continue;
    if (auto end = read_trace_end(file, std::min(most, kMostOfTrace)))
      ends.push_back(*std::move(end));
  }
  return ends;
}

int run_job_usage(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = take_job_directory(options);
  options.expect_end();
  write_all(STDOUT_FILENO, to_text(read_job_usage(directory)));
  return 0;
}

int run_job_traces(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = take_job_directory(options);
  const auto most = parse_number<std::size_t>(options.take_word("the limit"), "the limit");
  std::vector<int> ranks;
  for (const std::string& rank : options.take_rest())
    ranks.push_back(parse_number<int>(rank, "the rank"));
  write_all(STDOUT_FILENO, to_text(read_trace_ends(directory, most, ranks)));
  return 0;
}

}  // namespace fastgpu::agent
