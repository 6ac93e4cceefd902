#include "cli/workflows/machine_checks.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/file_status.hpp"
#include "base/files.hpp"
#include "base/names.hpp"
#include "base/parallel.hpp"
#include "base/split.hpp"
#include "base/unique_fd.hpp"
#include "base/units.hpp"
#include "process/capture.hpp"
#include "provision/cloud/cloud.hpp"
#include "provision/journal.hpp"
#include "provision/providers.hpp"
#include "provision/providers/local/rootless/prerequisites.hpp"
#include "state/private_place.hpp"
#include "state/store.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kNamespaces = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWUTS;
constexpr long kOverlayMagic = 0x794c7630;
constexpr std::uint64_t kLittleRoom = 1'000'000'000;

/// Returns 0 if a child process may unshare `flags`, else the errno.
int try_unshare(int flags) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) ::_exit(::unshare(flags) == 0 ? 0 : errno);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

Check check_namespaces() {
  const int error = try_unshare(kNamespaces);
  if (error == 0) return {"namespaces", Verdict::ok, "root may create them", ""};
  return {"namespaces", Verdict::fail,
          std::string("root may not: ") + system_error("unshare", error).what(),
          "give this container CAP_SYS_ADMIN, or use --provider static"};
}

/// Checks the requirements of local nodes for users other than root.
std::vector<Check> check_rootless() {
  constexpr const char* kName = "without root";
  std::vector<Check> out;
  for (const auto& obstacle : provision::local::obstacles(provision::local::look_at_machine()))
    out.push_back({kName, Verdict::fail, obstacle.what, obstacle.remedy});
  if (out.empty())
    out.push_back(
        {kName, Verdict::ok, "user namespaces, ids, newuidmap, fuse-overlayfs, /dev/fuse", ""});
  return out;
}

Check check_kernel() {
  utsname name{};
  ::uname(&name);
  std::ifstream list("/proc/filesystems");
  bool overlay = false;
  for (std::string line; std::getline(list, line);)
    overlay = overlay || line.ends_with("\toverlay");
  const std::string module = "/lib/modules/" + std::string(name.release) + "/kernel/fs/overlayfs";
  overlay = overlay || ::access(module.c_str(), F_OK) == 0;
  if (overlay) return {"kernel", Verdict::ok, std::string(name.release) + " with overlayfs", ""};
  return {"kernel", Verdict::fail, std::string(name.release) + " without overlayfs",
          "load it: modprobe overlay"};
}

std::filesystem::path nearest_existing(std::filesystem::path path) {
  while (path.has_relative_path() && ::access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    path = path.parent_path();
  return path;
}

Check check_overlay_place(const std::filesystem::path& directory) {
  struct statfs system {};
  const std::filesystem::path place = nearest_existing(directory);
  if (::statfs(place.c_str(), &system) != 0)
    return {"node file systems", Verdict::fail, system_error(place.string(), errno).what(),
            "name a directory on a local disk with FASTGPU_LOCAL_DIR"};
  if (static_cast<long>(system.f_type) == kOverlayMagic)
    return {"node file systems", Verdict::warn, place.string() + " is on an overlay",
            "fastgpu looks for another place; name one with FASTGPU_LOCAL_DIR"};
  return {"node file systems", Verdict::ok, place.string() + " can carry them", ""};
}

std::vector<Check> check_root(const std::filesystem::path& nodes) {
  return {check_namespaces(), check_kernel(), check_overlay_place(nodes)};
}

Check check_room(const std::filesystem::path& directory) {
  struct statvfs system {};
  const std::filesystem::path place = nearest_existing(directory);
  if (::statvfs(place.c_str(), &system) != 0)
    return {"disk", Verdict::warn, system_error(place.string(), errno).what(), ""};
  const Bytes free{static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize};
  const std::string found = to_string(free) + " free at " + place.string();
  if (free.count >= kLittleRoom) return {"disk", Verdict::ok, found, ""};
  return {"disk", Verdict::warn, found,
          "free some space, or choose another place with --state-dir"};
}

/// Returns PATH with the directories of sshd, which an ordinary user's PATH lacks.
std::string search_path(const state::Environment& environment) {
  return environment("PATH").value_or("/usr/bin:/bin") + ":/usr/local/sbin:/usr/sbin:/sbin";
}

struct Program {
  std::string_view name;
  std::string_view version_flag;
  std::string_view package;
  std::string_view purpose;
  Verdict when_missing;
};

constexpr std::array kPrograms = {
    Program{"sshd", "-V", "openssh-server", "the nodes of a cluster on this machine",
            Verdict::fail},
    Program{"mpirun", "--version", "openmpi-bin", "jobs", Verdict::fail},
    Program{"ssh", "-V", "openssh-client", "mpirun's connections between nodes", Verdict::fail},
};

/// Returns the first line with a digit that the program prints, which has its version. Throws
/// ErrorKind::local without such a line.
std::string version_of(const std::filesystem::path& program, const std::string& flag,
                       const Cancel& cancel) {
  process::Command command{.argv = {program.string(), flag}};
  const process::Captured ran = process::capture(command, {}, cancel);
  const std::string text = ran.out.empty() ? ran.err : ran.out;
  for (const std::string_view line : split_lines(text))
    if (line.find_first_of("0123456789") != line.npos) return printable(line);
  throw Error(ErrorKind::local, program.string() + " does not print its version");
}

Check check_program(const Program& program, const std::string& path, const Cancel& cancel) {
  const std::string name(program.name);
  try {
    const std::filesystem::path file = process::find_program(name, path);
    return {name, Verdict::ok,
            file.string() + ", " + version_of(file, std::string(program.version_flag), cancel), ""};
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::interrupted) throw;
    return {name, program.when_missing, e.what(),
            "install it (Debian: apt-get install " + std::string(program.package) +
                "); needed for " + std::string(program.purpose)};
  }
}

/// Writes a page and removes it again. This detects faults that a check of rights and free space
/// misses: a read-only or full file system, a quota, a limit.
void try_writing(const std::filesystem::path& directory) {
  UniqueFd file(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (!file && errno == EOPNOTSUPP) {
    std::string name = (directory / ".doctor-XXXXXX").string();
    file = UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
    if (file) ::unlink(name.c_str());
  }
  if (!file) throw system_error("writing to " + directory.string(), errno);
  constexpr std::array<char, 4096> kPage{};
  write_all(file.get(), {kPage.data(), kPage.size()}, "writing to " + directory.string());
}

/// Returns the number of steps that gc would finish.
std::size_t unfinished_steps(const state::Store& store) {
  return static_cast<std::size_t>(
      std::ranges::count_if(store.open_intents(), provision::is_unfinished));
}

Check check_state(const std::filesystem::path& directory) {
  try {
    state::require_private_place(directory);
    try_writing(nearest_existing(directory));
    if (!path_exists(directory / "state.db"))
      return {"state", Verdict::ok, directory.string() + " (no clusters yet)", ""};
    const state::Store store(directory);
    if (!store.writable())
      return {"state", Verdict::fail, directory.string() + " is read-only",
              "make it and its state.db writable, or choose another place with --state-dir"};
    const std::size_t open = unfinished_steps(store);
    const std::string found =
        directory.string() + ": " + counted(store.clusters().size(), "cluster");
    if (open == 0) return {"state", Verdict::ok, found, ""};
    return {"state", Verdict::warn, found + ", " + counted(open, "step") + " unfinished",
            "finish them: fastgpu gc"};
  } catch (const std::exception& e) {
    return {"state", Verdict::fail, e.what(), "choose another place with --state-dir"};
  }
}

Check check_clock() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  if (now > sys_days(year{2025} / January / 1)) return {"clock", Verdict::ok, "plausible", ""};
  return {"clock", Verdict::warn, "before 2025", "set the clock: keys and jobs record the time"};
}

}  // namespace

std::string_view word_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::warn:
      return "warn";
    case Verdict::fail:
      return "fail";
  }
  return "fail";
}

std::vector<Check> examine(const std::filesystem::path& state_directory,
                           const state::Environment& environment, const Cancel& cancel) {
  const std::string local = environment("FASTGPU_LOCAL_DIR").value_or("");
  const std::string path = search_path(environment);
  const std::filesystem::path nodes = local.empty() ? state_directory.string() : local;
  std::vector<Check> out = ::geteuid() == 0 ? check_root(nodes) : check_rootless();
  cancel.check();
  out.push_back(check_room(state_directory));
  for (const Program& program : kPrograms)
    out.push_back(check_program(program, path, cancel));
  out.push_back(check_state(state_directory));
  out.push_back(check_clock());
  cancel.check();
  return out;
}

}  // namespace fastgpu::cli
