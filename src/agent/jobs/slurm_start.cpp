// `slurm-start`: prints what the batch script of a job in Slurm needs before its ranks start, as
// assignments of a shell.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/files/disk.hpp"
#include "agent/jobs/free_port.hpp"
#include "agent/jobs/mpi_programs.hpp"
#include "agent/jobs/slurm_ports.hpp"
#include "agent/jobs/slurm_tasks.hpp"
#include "agent/options.hpp"
#include "agent/protocol/files.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/subcommands.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {
namespace {

std::string variable_of_slurm(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

SlurmPorts ports_here() {
  const auto job = to_number<std::uint64_t>(variable_of_slurm("SLURM_JOB_ID"));
  if (!job) throw Error(ErrorKind::usage, "SLURM_JOB_ID is not set (start this by sbatch)");
  const std::vector<int> ranks = parse_slurm_tasks(variable_of_slurm("SLURM_TASKS_PER_NODE"));
  const int most = ranks.empty() ? 1 : *std::ranges::max_element(ranks);
  return free_slurm_ports(*job, most, is_free_port);
}

/// Returns a file of the job: one that the batch script carries, or one of its directory.
std::optional<std::string> file_of_job(const std::filesystem::path& directory,
                                       std::span<const SmallFile> carried,
                                       const std::string& name) {
  if (carried.empty()) return read_file(directory / name);
  for (const SmallFile& file : carried)
    if (std::filesystem::path(file.name).filename() == name) return file.content;
  return std::nullopt;
}

bool uses_mpi_here(const std::filesystem::path& directory, std::span<const SmallFile> carried) {
  const auto text = file_of_job(directory, carried, "rank");
  const auto variables = file_of_job(directory, carried, kVariables);
  if (!text || !variables) return false;
  const JobPlan plan = parse_plan(*text);
  const auto path = process::variable(parse_variables(*variables), "PATH");
  return uses_mpi(plan.argv, below_home(plan.directory), path ? *path : variable_of_slurm("PATH"));
}

}  // namespace

int run_slurm_start(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = below_home(options.take_word("the job's directory"));
  const bool has_own_home = options.take_flag("--own-home");
  options.expect_end();
  std::vector<SmallFile> carried;
  if (has_own_home) carried = files_in_script(read_all(STDIN_FILENO, kMostFileBytes));
  const SlurmPorts ports = ports_here();
  std::printf("MASTER_PORT=%d\nFASTGPU_COMM_MASTER_PORT=%d\n", ports.master, ports.communicator);
  if (uses_mpi_here(directory, carried)) std::puts("uses_mpi=yes");
  return 0;
}

}  // namespace fastgpu::agent
