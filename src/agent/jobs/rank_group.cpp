#include "agent/jobs/rank_group.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "agent/files/disk.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr std::string_view kSuffix = ".group";
constexpr std::chrono::seconds kLongestGroupEnd{5};

/// Returns the content of a file of the kernel, whose size is unknown; empty if it cannot be read.
std::string kernel_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns false if the kernel refuses the text.
bool write_kernel(const fs::path& file, std::string_view text) noexcept {
  const UniqueFd to(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return to && ::write(to.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string group_name(const std::string& job_id, int rank) {
  return "fastgpu-" + job_id + "-rank" + std::to_string(rank);
}

/// Returns a path of mountinfo without its escapes: "\040" is a blank.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size();
    if (!is_escape) {
      out += text[i];
      continue;
    }
    out +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

/// Returns the group of the line "0::/path"; absent if there is none.
std::optional<std::string> unified_path(std::string_view cgroups) {
  std::istringstream lines{std::string(cgroups)};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("0::/")) return line.substr(3);
  return std::nullopt;
}

bool has_processes(const fs::path& group) {
  return kernel_text(group / "cgroup.events").find("populated 1") != std::string::npos;
}

/// Removes a group and those below it, which a program may have made. Groups with processes stay.
void remove_group(const fs::path& group) {
  std::error_code none;
  std::vector<fs::path> below;
  for (const auto& entry : fs::directory_iterator(group, none))
    if (entry.is_directory(none) && !entry.is_symlink(none)) below.push_back(entry.path());
  for (const fs::path& one : below)
    remove_group(one);
  ::rmdir(group.c_str());
}

/// Sends SIGKILL to the processes of a group and of those below it: for kernels before 5.14.
void kill_each(const fs::path& group) {
  std::istringstream pids(kernel_text(group / "cgroup.procs"));
  for (pid_t pid = 0; pids >> pid;)
    if (pid > 0 && pid != ::getpid()) ::kill(pid, SIGKILL);
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(group, none))
    if (entry.is_directory(none) && !entry.is_symlink(none)) kill_each(entry.path());
}

void end_group(const fs::path& group) {
  const auto deadline = SteadyClock::now() + kLongestGroupEnd;
  while (has_processes(group) && SteadyClock::now() < deadline) {
    if (!write_kernel(group / "cgroup.kill", "1")) kill_each(group);
    ::poll(nullptr, 0, 10);
  }
  remove_group(group);
}

/// Calls `use` for each group that the job has recorded on this node.
template <class Use>
void for_each_group(const fs::path& job_directory, const std::string& job_id, Use use) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(job_directory / "ranks", none)) {
    if (entry.path().extension() != kSuffix) continue;
    const fs::path group(read_file(entry.path()).value_or(""));
    const bool is_ours =
        group.is_absolute() &&
        group.filename() == "fastgpu-" + job_id + "-rank" + entry.path().stem().string();
    if (is_ours && fs::exists(group / "cgroup.procs", none)) use(group);
    if (is_ours && !fs::exists(group, none)) fs::remove(entry.path(), none);
  }
}

}  // namespace

std::optional<fs::path> unified_group(std::string_view mountinfo, std::string_view cgroups) {
  const auto own = unified_path(cgroups);
  const bool is_outside = own && own->find("/..") != std::string::npos;
  if (!own || is_outside) return std::nullopt;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string id, parent, device, root, point;
    if (!(fields >> id >> parent >> device >> root >> point)) continue;
    root = unescaped(root);
    if (root == "/") return fs::path(unescaped(point) + (*own == "/" ? "" : *own));
    const bool is_inside = *own == root || own->starts_with(root + "/");
    if (is_inside) return fs::path(unescaped(point) + own->substr(root.size()));
  }
  return std::nullopt;
}

std::optional<RankGroup> RankGroup::enter(const fs::path& job_directory, const std::string& job_id,
                                          int rank) {
  const auto outer =
      unified_group(kernel_text("/proc/self/mountinfo"), kernel_text("/proc/self/cgroup"));
  if (!outer) return std::nullopt;
  const fs::path path = *outer / group_name(job_id, rank);
  if (::mkdir(path.c_str(), 0755) != 0) return std::nullopt;
  const fs::path record = job_directory / "ranks" / (std::to_string(rank) + std::string(kSuffix));
  try {
    write_atomically(record, path.string());
  } catch (const Error&) {
    ::rmdir(path.c_str());
    return std::nullopt;
  }
  RankGroup group(path, *outer, record);
  if (write_kernel(path / "cgroup.procs", "0")) return group;
  ::rmdir(path.c_str());
  ::unlink(record.c_str());
  return std::nullopt;
}

void RankGroup::leave() noexcept {
  if (write_kernel(outer_ / "cgroup.procs", "0")) return;
  ::unlink(record_.c_str());
}

void end_groups(const fs::path& job_directory, const std::string& job_id) noexcept try {
  for_each_group(job_directory, job_id, end_group);
} catch (const std::exception&) {
  return;
}

void remove_empty_groups(const fs::path& job_directory, const std::string& job_id) noexcept try {
  for_each_group(job_directory, job_id, [](const fs::path& group) {
    if (!has_processes(group)) remove_group(group);
  });
} catch (const std::exception&) {
  return;
}

}  // namespace fastgpu::agent
