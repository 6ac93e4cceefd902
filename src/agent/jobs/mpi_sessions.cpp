#include "agent/jobs/mpi_sessions.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "agent/files/disk.hpp"
#include "agent/jobs/processes.hpp"
#include "base/contains.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// Returns the names that the sessions of this account have: "ompi.node.1000" with Open MPI 4,
/// "prte.node.1000" with Open MPI 5, which may leave out the domain of the host.
std::vector<std::string> names_of_sessions() {
  const std::string host = host_name();
  const std::string account = "." + std::to_string(::geteuid());
  std::vector<std::string> names;
  for (const std::string& node : {host, host.substr(0, host.find('.'))})
    for (const char* const program : {"ompi.", "prte."})
      if (const std::string name = program + node + account; !contains(names, name))
        names.push_back(name);
  return names;
}

/// Returns the directories for temporary files, each once.
std::vector<fs::path> temporary_directories() {
  std::vector<fs::path> places = {"/tmp"};
  const char* const own = std::getenv("TMPDIR");
  if (own != nullptr && *own == '/' && !contains(places, fs::path(own))) places.emplace_back(own);
  return places;
}

/// Returns true for a directory of this account that is not a link, and that others cannot write
/// to.
bool is_our_own(const fs::path& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0) return false;
  return S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() && (about.st_mode & 022) == 0;
}

/// Returns the sessions: one directory for each mpirun and for each daemon.
std::vector<fs::path> all_sessions() {
  std::vector<fs::path> sessions;
  for (const fs::path& place : temporary_directories())
    for (const std::string& name : names_of_sessions()) {
      if (!is_our_own(place / name)) continue;
      std::error_code none;
      for (fs::directory_iterator entry(place / name, none), end; entry != end;
           entry.increment(none))
        sessions.push_back(entry->path());
    }
  return sessions;
}

/// Returns true if a daemon or a rank of MPI runs here, of any job.
bool has_mpi_processes() {
  constexpr std::array kDaemons = {"orted\n", "prted\n", "prte\n"};
  constexpr std::array<std::string_view, 2> kOfRanks = {"PMIX_RANK=", "OMPI_COMM_WORLD_RANK="};
  for (const pid_t pid : all_pids()) {
    if (contains(kDaemons, proc_file(pid, "comm"))) return true;
    const std::string environment = '\0' + proc_file(pid, "environ");
    for (const std::string_view variable : kOfRanks)
      if (environment.find('\0' + std::string(variable)) != std::string::npos) return true;
  }
  return false;
}

/// Returns the process in the name of a session: 12 for "pid.12" and "dvm.12"; 0 for "jf.3".
pid_t process_of(const std::string& session) {
  const bool has_process = session.starts_with("pid.") || session.starts_with("dvm.");
  const std::string digits = has_process ? session.substr(4) : std::string();
  const bool is_number = !digits.empty() && digits.size() < 10 &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::stoi(digits) : 0;
}

}  // namespace

void drop_dead_sessions() noexcept try {
  // A process that makes a session lives: it is seen if the sessions are listed before.
  const std::vector<fs::path> sessions = all_sessions();
  if (sessions.empty()) return;
  const bool has_processes = has_mpi_processes();
  std::error_code none;
  for (const fs::path& session : sessions) {
    const std::string name = session.filename().string();
    const pid_t process = process_of(name);
    const bool is_dead = process != 0 ? !fs::exists("/proc/" + std::to_string(process), none)
                                      : name.starts_with("jf.") && !has_processes;
    if (!is_dead) continue;
    fs::remove_all(session, none);
    fs::remove(session.parent_path(), none);  // Only if it is empty.
  }
} catch (const std::exception&) {
  return;  // The next job tries it again.
}

}  // namespace fastgpu::agent
