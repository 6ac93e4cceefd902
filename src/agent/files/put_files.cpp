// `put-files`: writes small private files from standard input. In the same round trip, runs the
// subcommand that needs them.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agent/files/disk.hpp"
#include "agent/jobs/job_folders.hpp"
#include "agent/jobs/job_place.hpp"
#include "agent/options.hpp"
#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/files.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/subcommands.hpp"

namespace fastgpu::agent {
namespace {

/// Returns the content of the job's secret, which every start makes anew; empty without one.
std::string secret_in(const std::vector<SmallFile>& files) {
  const auto secret = std::ranges::find_if(
      files, [](const SmallFile& file) { return file.name.ends_with(kCommSecret); });
  return secret == files.end() ? "" : secret->content;
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
  const auto place = options.take_flag("--own-disk") ? FolderPlace::own_disk : FolderPlace::usual;
  const bool asks = options.take_flag("--reach");
  const auto others = asks ? options.take_rest() : std::vector<std::string>();
  options.expect_end();
  const auto files = decode_files(
      read_all(STDIN_FILENO, kMostFileBytes));  // Reads everything before it writes anything.
  make_private_directory(directory);
  if (new_job) {
    const NewFolder folder = make_job_folder(below_home(*new_job), secret_in(files), place);
    if (folder == NewFolder::taken) return kIdTaken;
    if (folder == NewFolder::shared) return kHomeShared;
  }
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
