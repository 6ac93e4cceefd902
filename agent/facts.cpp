// `facts`: what the launcher must know of this node.
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "agent/disk.hpp"
#include "agent/options.hpp"
#include "agent/protocol/facts.hpp"
#include "agent/subcommands.hpp"
#include "base/names.hpp"
#include "process/capture.hpp"

namespace fastgpu::agent {
namespace {

/// Where Open MPI lives when it is not in PATH.
constexpr std::string_view kOtherPlaces =
    ":/usr/local/bin:/usr/bin:/opt/amazon/openmpi5/bin:/opt/amazon/openmpi/bin:"
    "/usr/lib64/openmpi/bin:/opt/openmpi/bin:/usr/mpi/gcc/openmpi/bin:/usr/local/mpi/bin:"
    "/opt/hpcx/ompi/bin";

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// `preferred` is a directory, "" for none.
std::string mpirun_of(const std::string& preferred) {
  if (!preferred.empty() && ::access((preferred + "/mpirun").c_str(), X_OK) == 0)
    return preferred + "/mpirun";
  const char* path = ::getenv("PATH");
  const std::string places = (path != nullptr ? path : "") + std::string(kOtherPlaces);
  return process::find_program("mpirun", places);
}

void find_mpirun(const std::string& preferred, NodeFacts& facts) try {
  const std::string mpirun = mpirun_of(preferred);
  const Cancel never;
  const auto answer = process::capture({.argv = {mpirun, "--version"}}, {}, never);
  facts.mpirun = mpirun;
  facts.mpirun_version = first_line(answer.out);
} catch (const Error&) {
  facts.mpirun.clear();  // The launcher says so, with the node's name.
}

/// Throws not_found for what a rank could not enter or run. A program without a slash is looked for
/// in the PATH of the rank, which is not known here.
void check_can_run(const std::filesystem::path& directory, const std::string& program) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored))
    throw Error(ErrorKind::not_found,
                "the working directory " + printable(directory.string()) + " does not exist");
  if (program.find('/') == program.npos) return;
  const std::filesystem::path file = directory / program;
  if (!std::filesystem::is_regular_file(file, ignored) || ::access(file.c_str(), X_OK) != 0)
    throw Error(ErrorKind::not_found, printable(file.string()) + " is no program that can be run");
}

}  // namespace

int run_facts(Arguments arguments) {
  Options options(arguments);
  const bool wants_mpirun = options.take_flag("--mpirun");
  const auto mpirun_in = options.take_value("--mpirun-in");
  const auto directory = options.take_value("--workdir");
  const auto program = options.take_value("--program");
  options.expect_end();
  if (directory) check_can_run(below_home(*directory), program.value_or(""));
  NodeFacts facts{.host = host_name(),
                  .home = below_home("").string(),
                  .root = ::geteuid() == 0,
                  .cores = usable_cores(),
                  .boot_id = first_line(read_file("/proc/sys/kernel/random/boot_id").value_or("")),
                  .mpirun = {},
                  .mpirun_version = {}};
  while (facts.home.size() > 1 && facts.home.back() == '/')
    facts.home.pop_back();
  if (wants_mpirun) find_mpirun(mpirun_in.value_or(""), facts);
  write_all(STDOUT_FILENO, to_text(facts));
  return 0;
}

}  // namespace fastgpu::agent
