// `facts`: reports the facts about this node that the launcher needs.
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "agent/files/disk.hpp"
#include "agent/interfaces.hpp"
#include "agent/mpi_parameters.hpp"
#include "agent/npus.hpp"
#include "agent/options.hpp"
#include "agent/protocol/facts.hpp"
#include "agent/subcommands.hpp"
#include "base/names.hpp"
#include "base/rdma_devices.hpp"
#include "base/split.hpp"
#include "process/capture.hpp"
#include "process/interpreter.hpp"

namespace fastgpu::agent {
namespace {

/// Places of Open MPI to search in addition to PATH.
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

/// Returns our end of the SSH connection. sshd sets SSH_CONNECTION to "CLIENT PORT SERVER PORT".
std::string ssh_address() {
  const char* const connection = ::getenv("SSH_CONNECTION");
  std::istringstream words(connection == nullptr ? "" : connection);
  std::string word;
  for (int i = 0; i < 3; ++i)
    if (!(words >> word)) return "";
  return word;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string ssh_version() try {
  const Cancel never;
  return first_line(process::capture({.argv = {"ssh", "-V"}}, {}, never).err);
} catch (const Error&) {
  return "";
}

/// Returns the path of mpirun. `preferred` is a directory to search first; may be empty.
std::string mpirun_of(const std::string& preferred) {
  if (!preferred.empty() && ::access((preferred + "/mpirun").c_str(), X_OK) == 0)
    return preferred + "/mpirun";
  const char* path = ::getenv("PATH");
  const std::string places = (path != nullptr ? path : "") + std::string(kOtherPlaces);
  return process::find_program("mpirun", places);
}

/// Returns true if the daemon of Open MPI 4 or 5 is in the directory of mpirun, which may be a
/// link.
bool is_daemon_beside(const std::filesystem::path& mpirun) {
  std::error_code none;
  for (const auto& place : {mpirun, std::filesystem::canonical(mpirun, none)})
    for (const char* name : {"orted", "prted"})
      if (::access((place.parent_path() / name).c_str(), X_OK) == 0) return true;
  return false;
}

void find_mpirun(const std::string& preferred, JobNodeFacts& facts) try {
  facts.mpirun = mpirun_of(preferred);
  facts.has_daemon = is_daemon_beside(facts.mpirun);
  const Cancel never;
  const auto answer =
      process::capture({.argv = {facts.mpirun, "--version"}}, {.timeout = kMpirunAnswer}, never);
  facts.mpirun_version = first_line(answer.out);
} catch (const Error& e) {
  // The launcher reports the missing or silent program, with the node's name.
  facts.is_mpirun_silent = e.kind() == ErrorKind::timeout;
  if (!facts.is_mpirun_silent) facts.mpirun.clear();
}

/// Looks for a torchrun in `path`. Shells pass over one whose interpreter is missing.
void find_torchrun_in(const std::string& path, JobNodeFacts& facts) {
  facts.has_torchrun = false;
  for (const std::string_view directory : split(path, ':')) {
    try {
      const auto file = process::find_program("torchrun", directory);
      const std::string why = process::missing_interpreter(file, path);
      facts.has_torchrun = true;
      if (why.empty()) {
        facts.torchrun_obstacle.clear();
        return;
      }
      if (facts.torchrun_obstacle.empty()) facts.torchrun_obstacle = file.string() + ": " + why;
    } catch (const Error&) {  // This directory has none.
    }
  }
}

/// Returns why the interpreter `python`, looked for in `path`, cannot run torchrun; "" if it can.
std::string obstacle_to_torchrun(const std::string& python, const std::string& path) try {
  const auto program = process::find_program(python, path);
  if (::access(program.c_str(), F_OK) != 0) return "does not exist";
  // The import itself would take seconds.
  constexpr const char* kScript =
      "import importlib.util, sys\nsys.exit(importlib.util.find_spec('torch') is None)";
  const Cancel never;
  const auto answer = process::capture({.argv = {program.string(), "-c", kScript}}, {}, never);
  return answer.status.ok() ? "" : "has no PyTorch";
} catch (const Error& e) {
  return e.kind() == ErrorKind::not_found ? "does not exist" : "cannot be run";
}

/// Looks for what starts the workers: torchrun in `path`, or the interpreter that the user names.
void find_torchrun(const std::optional<std::string>& python, const std::string& path,
                   JobNodeFacts& facts) {
  if (python)
    facts.torchrun_obstacle = obstacle_to_torchrun(*python, path);
  else
    find_torchrun_in(path, facts);
}

void find_rdma(const std::filesystem::path& root, JobNodeFacts& facts) {
  RdmaDevices devices = rdma_devices(root);
  if (devices.ports.empty()) return;
  facts.rdma_device = devices.ports.front().device;
  facts.rdma_obstacle = obstacle_of(devices);
  for (RdmaPort& port : devices.ports)
    port.gids = gids_of(port, root);
  facts.rdma_ports = std::move(devices.ports);
}

/// Throws not_found or denied if a rank with the PATH of a login would not find a program of this
/// name, which has no slash. A launcher has its own directory in that PATH, too.
void check_is_found(const std::string& name, const std::string& launcher) {
  const char* const login = ::getenv("PATH");
  const std::string beside = std::filesystem::path(launcher).parent_path().string();
  process::find_program(name, (login != nullptr ? login : "") + (":" + beside));
}

/// Throws not_found or denied if a rank could not enter the directory or run the program. A program
/// without a slash is not checked.
void check_can_run(const std::filesystem::path& directory, const std::string& program) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) {
    const bool is_there = std::filesystem::exists(directory, ignored);
    throw Error(ErrorKind::not_found, "the working directory " + printable(directory.string()) +
                                          (is_there ? " is not a directory" : " does not exist"));
  }
  if (program.find('/') == program.npos) return;
  const std::filesystem::path file = directory / program;
  if (!std::filesystem::exists(file, ignored))
    throw Error(ErrorKind::not_found, printable(file.string()) + " does not exist");
  if (!std::filesystem::is_regular_file(file, ignored) || ::access(file.c_str(), X_OK) != 0)
    throw Error(ErrorKind::denied, printable(file.string()) + " is not a program that can be run");
}

}  // namespace

int run_facts(Arguments arguments) {
  OptionReader options(arguments);
  const bool wants_mpirun = options.take_flag("--mpirun");
  const auto mpirun_in = options.take_value("--mpirun-in");
  const auto torchrun_path = options.take_value("--torchrun-path");  // Empty: PATH of this node.
  const auto torchrun_python = options.take_value("--torchrun-python");
  const auto directory = options.take_value("--workdir");
  const auto program = options.take_value("--program");
  const auto found_in_path = options.take_value("--in-path");
  const std::filesystem::path root = options.take_value("--root").value_or("/");
  options.expect_end();
  if (directory) check_can_run(below_home(*directory), program.value_or(""));
  JobNodeFacts facts{
      .host = host_name(),
      .home = below_home("").string(),
      .root = ::geteuid() == 0,
      .cores = usable_cores(),
      .boot_id = first_line(read_file("/proc/sys/kernel/random/boot_id").value_or("")),
      .mpirun = {},
      .mpirun_version = {},
      .has_daemon = true,
      .has_torchrun = true,
      .torchrun_obstacle = {},
      .addresses = {},
      .ssh_address = ssh_address(),
      .ssh_version = ssh_version()};
  for (const Interface& own : own_interfaces()) {
    facts.addresses.push_back(own.address);
    facts.mtus.push_back(own.mtu);
  }
  while (facts.home.size() > 1 && facts.home.back() == '/')
    facts.home.pop_back();
  find_rdma(root, facts);
  facts.npus = npu_devices(root);
  if (wants_mpirun) {
    find_mpirun(mpirun_in.value_or(""), facts);
    facts.mpi_parameters = mpi_parameters(facts.home, facts.mpirun, root);
  }
  if (found_in_path) check_is_found(*found_in_path, facts.mpirun);
  if (torchrun_path) {
    const char* const own = ::getenv("PATH");
    const bool is_own = torchrun_path->empty() && own != nullptr;
    const std::string path = is_own ? own : *torchrun_path;
    const std::string preferred = mpirun_in.value_or("");
    find_torchrun(torchrun_python, preferred.empty() ? path : preferred + ":" + path, facts);
  }
  write_all(STDOUT_FILENO, to_text(facts));
  return 0;
}

}  // namespace fastgpu::agent
