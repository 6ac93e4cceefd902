#include "launcher/job.hpp"

#include <array>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/literals.hpp"
#include "base/units.hpp"
#include "transfer/node_path.hpp"

namespace fastgpu::launcher {
namespace {

constexpr std::size_t kLongestVariable = (128UL << 10U) - 1;  ///< The kernel's limit.
constexpr std::size_t kMostVariables = 512UL << 10U;
constexpr std::chrono::milliseconds kLongestGrace = std::chrono::hours(1);
constexpr std::chrono::milliseconds kShortestHang{2'000};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::usage, "job: " + why);
}

/// Calls a check. Its error gets the job as its subject.
template <class Check>
void as_job(const Check& check) try {
  check();
} catch (const Error& e) {
  throw e.during("job");
}

/// Variables that differ between ranks or nodes: one value for all would break the job. MASTER_ADDR
/// and MASTER_PORT are not among them, as all ranks share them.
constexpr std::array<std::string_view, 15> kOfEachRank = {"RANK",
                                                          "LOCAL_RANK",
                                                          "WORLD_SIZE",
                                                          "LOCAL_WORLD_SIZE",
                                                          "NODE_RANK",
                                                          "GROUP_RANK",
                                                          "FASTGPU_RANK",
                                                          "FASTGPU_LOCAL_RANK",
                                                          "FASTGPU_WORLD_SIZE",
                                                          "FASTGPU_NODE_RANK",
                                                          "FASTGPU_NUM_NODES",
                                                          "FASTGPU_NODE_IPS",
                                                          "FASTGPU_CPUS",
                                                          "FASTGPU_BLAME_FILE",
                                                          "FASTGPU_JOB_ID"};

std::string name_of(const std::string& assignment) {
  return assignment.substr(0, assignment.find('='));
}

void check_variable(const std::string& assignment) {
  const std::string name = name_of(assignment);
  if (name == assignment) refuse("variable '" + printable(assignment) + "' has no '='");
  if (!is_variable_name(name)) refuse("'" + printable(name) + "' is not a variable name");
  as_job([&] { check_rank_variable(name); });
}

void check_no_nul(const std::string& what, const std::string& text) {
  if (text.find('\0') != std::string::npos) refuse(what + " has a NUL byte");
}

/// Checks a path on the nodes; empty for none.
void check_node_path(const std::string& what, const std::string& path) {
  if (path.empty()) return;
  try {
    transfer::parse_node_path(path);
  } catch (const Error& e) {
    refuse(what + " " + e.what());
  }
}

void check_variables(const std::vector<std::string>& environment) {
  std::size_t bytes = 0;
  for (const std::string& assignment : environment) {
    check_no_nul("the value of a variable", assignment);
    check_variable(assignment);
    if (assignment.size() > kLongestVariable)
      refuse("the variable " + name_of(assignment) + " has " + std::to_string(assignment.size()) +
             " bytes with its name; a program accepts at most " + std::to_string(kLongestVariable));
    bytes += assignment.size() + 1;
  }
  if (bytes > kMostVariables)
    refuse("the variables have " + std::to_string(bytes) + " bytes in total; at most " +
           std::to_string(kMostVariables) + " are allowed");
}

}  // namespace

void check_count(const std::string& what, std::optional<int> count) {
  if (!count || (*count >= 1 && *count <= kMostRanks)) return;
  throw Error(ErrorKind::usage, what + ": " + std::to_string(*count) + " is not within 1 to " +
                                    std::to_string(kMostRanks));
}

void check_timeout(std::chrono::milliseconds timeout) {
  if (timeout.count() == 0)
    throw Error(ErrorKind::usage, "the timeout is 0: give a longer one, or omit it for no timeout");
}

void check_grace(std::chrono::milliseconds grace) {
  if (grace.count() < 0 || grace > kLongestGrace)
    throw Error(ErrorKind::usage, "the grace (--grace) is " + to_exact_string(grace) +
                                      ", which is not within 0 to " + to_string(kLongestGrace));
}

void check_hang_timeout(std::chrono::milliseconds limit) {
  if (limit < kShortestHang)
    throw Error(ErrorKind::usage, "the time to a hang (--hang-timeout) is " +
                                      (limit.count() == 0 ? "0" : to_exact_string(limit)) +
                                      ", which is shorter than " + to_string(kShortestHang));
}

void check_rank_variable(const std::string& name) {
  if (contains(kOfEachRank, name))
    throw Error(ErrorKind::usage, "the variable " + name +
                                      " is set by fastgpu for each rank and cannot be overridden");
}

void validate(const JobSpec& spec) {
  check_name("job name", spec.name.value);
  if (spec.argv.empty() || spec.argv[0].empty()) refuse("no program given");
  for (const std::string& word : spec.argv)
    check_no_nul("an argument", word);
  check_variables(spec.environment);
  check_node_path("the working directory", spec.directory);
  if (spec.engine == EngineKind::kubernetes && transfer::is_below_home({spec.directory}))
    refuse("the working directory '" + printable(spec.directory) +
           "': the home directory in a pod is unknown: write the full path");
  check_count("ranks (-np)", spec.ranks);
  check_count("ranks per node (--npernode)", spec.per_node);
  const bool binds_workers = spec.per != RankUnit::none && spec.per != RankUnit::gpu;
  if (binds_workers && spec.launcher == Launcher::torchrun)
    refuse(
        "with --launcher torchrun the workers of a node are started together: --per gpu gives them "
        "their GPUs, and no other --per is possible");
  if (spec.on_full == FullDisk::drops && spec.leftovers == Leftovers::kept)
    refuse(
        "--on-full continue and --keep-processes exclude each other: what processes write after "
        "the end of their rank would have no reader");
  if (spec.timeout.count() < 0) refuse("the timeout is negative");
  check_node_path("the directory for checkpoints", spec.checkpoints);
  as_job([&] {
    if (spec.hang_timeout.count() != 0) check_hang_timeout(spec.hang_timeout);
    check_grace(spec.grace);
  });
}

std::string run_name(const std::string& job_id, int restarts) {
  return restarts == 0 ? job_id : job_id + ".r" + std::to_string(restarts);
}

std::string job_directory(const std::string& run) {
  return ".fastgpu/jobs/" + run;
}

std::string job_work_directory(const std::string& run) {
  return job_directory(run) + "/work";
}

}  // namespace fastgpu::launcher
