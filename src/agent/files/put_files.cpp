// `put-files`: writes small private files from standard input. In the same round trip, runs the
// subcommand that needs them.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "agent/files/disk.hpp"
#include "agent/jobs/job_folders.hpp"
#include "agent/options.hpp"
#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/files.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/subcommands.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

/// Returns true if the folder has a job, whose files would be replaced.
bool has_job(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "rank");
}

/// Returns the content of the job's secret, which every start makes anew; empty without one.
std::string secret_in(const std::vector<SmallFile>& files) {
  const auto secret = std::ranges::find_if(
      files, [](const SmallFile& file) { return file.name.ends_with(kCommSecret); });
  return secret == files.end() ? "" : secret->content;
}

/// Makes the folder of a new job. Returns false if it has a job already. Throws conflict if another
/// node makes the folder for this very job: they have one home directory.
bool make_job_folder(const std::filesystem::path& folder, const std::vector<SmallFile>& files) {
  make_private_directory(folder.parent_path());
  if (::mkdir(folder.c_str(), 0700) == 0) return true;
  if (errno != EEXIST) throw system_error("making the directory " + folder.string(), errno);
  for (int i = 0; i < 30 && !has_job(folder); ++i)  // The other node may be writing.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!has_job(folder)) return true;  // A start that was cut short has left it.
  const std::string ours = secret_in(files);
  for (int i = 0; i < 30 && !ours.empty(); ++i) {
    if (read_file(folder / kCommSecret) == ours)
      throw Error(ErrorKind::conflict,
                  "another node of the job has the same home directory, " +
                      folder.parent_path().parent_path().parent_path().string() +
                      " (on a file server?): give each node an account whose home is its own, or "
                      "use --engine slurm");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

int run_put_files(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = below_home(options.take_word("the directory"));
  const bool wants_facts = options.take_flag("--facts");
  const auto mpirun_in = options.take_value("--mpirun-in");
  const auto retention = options.take_value("--tidy");
  const auto torchrun_path = options.take_value("--torchrun-path");
  const auto torchrun_python = options.take_value("--torchrun-python");
  const auto job = options.take_value("--start");
  const auto new_job = options.take_value("--new-job");
  const bool asks = options.take_flag("--reach");
  const auto others = asks ? options.take_rest() : std::vector<std::string>();
  options.expect_end();
  const auto files = decode_files(
      read_all(STDIN_FILENO, kMostFileBytes));  // Reads everything before it writes anything.
  make_private_directory(directory);
  if (new_job && !make_job_folder(below_home(*new_job), files)) return kIdTaken;
  write_files(directory, files);
  if (retention) tidy_jobs(parse_retention(*retention));
  std::vector<std::string> with_mpirun = {"--mpirun"};
  if (mpirun_in) with_mpirun.insert(with_mpirun.end(), {"--mpirun-in", *mpirun_in});
  if (torchrun_path) with_mpirun.insert(with_mpirun.end(), {"--torchrun-path", *torchrun_path});
  if (torchrun_python)
    with_mpirun.insert(with_mpirun.end(), {"--torchrun-python", *torchrun_python});
  if (wants_facts) return run_facts(with_mpirun);
  const int started = job ? run_job_start({&*job, 1}) : 0;
  return started == 0 && asks ? run_reach_nodes(others) : started;
}

}  // namespace fastgpu::agent
