#include "agent/guard/node_activity.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <system_error>

#include "agent/files/disk.hpp"
#include "agent/jobs/processes.hpp"
#include "agent/protocol/plan.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "process/capture.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kContact = "contact";

std::int64_t boot_time() {
  const std::string stat = read_file("/proc/stat").value_or("");
  const auto at = stat.find("\nbtime ");
  if (at == std::string::npos) return 0;
  return leading_number<std::int64_t>(std::string_view(stat).substr(at + 7)).value_or(0);
}

/// Returns the value of a marker in the environment of a process; may be empty.
std::string marker_in(const std::string& environment, std::string_view name) {
  const std::string sought = '\0' + std::string(name) + '=';
  const std::string all = '\0' + environment;
  const auto at = all.find(sought);
  if (at == std::string::npos) return "";
  return all.substr(at + sought.size(), all.find('\0', at + 1) - at - sought.size());
}

std::string words_of(std::string command_line) {
  std::replace(command_line.begin(), command_line.end(), '\0', ' ');
  while (command_line.ends_with(' '))
    command_line.pop_back();
  return command_line;
}

/// Reads the data of a process. Returns false if it has ended.
bool read_process(pid_t pid, std::int64_t booted, SeenProcess& seen) {
  const std::string stat = proc_file(pid, "stat");
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream rest(stat.substr(name_end + 1));
  std::string skipped;
  char state = 0;
  long user = 0, system = 0;
  long long start = 0;
  rest >> state >> seen.parent;
  for (int field = 5; field < 14; ++field)
    rest >> skipped;
  rest >> user >> system;
  for (int field = 16; field < 22; ++field)
    rest >> skipped;
  if (!(rest >> start) || state == 'Z' || state == 'X') return false;
  const long ticks = ::sysconf(_SC_CLK_TCK);
  seen.pid = pid;
  seen.began = booted + start / ticks;
  seen.processor = double(user + system) / double(ticks);
  seen.title = words_of(proc_file(pid, "cmdline"));
  const std::string environment = proc_file(pid, "environ");
  seen.job = marker_in(environment, kJobMarker);
  seen.is_command = !marker_in(environment, kExecMarker).empty();
  return true;
}

std::int64_t last_use(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return 0;
  return std::max(status.st_atime, status.st_mtime);
}

void look_at_terminals(NodeActivity& sight) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/dev/pts", none)) {
    const std::string name = entry.path().filename().string();
    if (name != "ptmx") sight.keys_pressed["pts/" + name] = last_use(entry.path());
  }
}

void look_at_gpus(NodeActivity& sight) try {
  const Cancel never;
  process::CaptureOptions options;
  options.timeout = std::chrono::seconds(5);
  const auto answer = process::capture({.argv = {"nvidia-smi", "--query-gpu=index,utilization.gpu",
                                                 "--format=csv,noheader,nounits"}},
                                       options, never);
  std::istringstream lines(answer.out);
  SeenGpu gpu;
  for (char comma = 0; lines >> gpu.index >> comma >> gpu.percent;)
    sight.gpus.push_back(gpu);
} catch (const Error&) {
  sight.gpus.clear();  // This node has no such GPUs.
}

/// Returns the time of the last sign of a fastgpu: a call of the agent, or the renewal of a job's
/// lease.
std::int64_t last_call() {
  std::int64_t last = last_use(guard_directory() / kContact);
  std::error_code none;
  for (const auto& job : fs::directory_iterator(below_home(".fastgpu/jobs"), none))
    last = std::max(last, last_use(job.path() / "lease"));
  return last;
}

}  // namespace

NodeActivity observe_node() {
  NodeActivity sight;
  const std::int64_t booted = boot_time();
  look_at_gpus(sight);
  for (const pid_t pid : all_pids()) {
    SeenProcess seen;
    if (read_process(pid, booted, seen)) sight.processes.push_back(std::move(seen));
  }
  look_at_terminals(sight);
  sight.contact = last_call();
  sight.at = double(now_ns()) / 1e9;
  return sight;
}

fs::path guard_directory() {
  return below_home(".fastgpu/guard");
}

void note_contact() noexcept try {
  const fs::path place = guard_directory();
  if (fs::exists(place)) touch(place / kContact);
} catch (const std::exception&) {
  return;  // Ignored, because the call itself matters more.
}

}  // namespace fastgpu::agent
