#include "comm/fabric/left_files.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/numbers.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::comm::fabric {
namespace {

/// The first bytes of a file, in the layout that libfabric 1.17 and later releases share.
struct Head {
  std::uint8_t version;
  std::uint8_t reserved;
  std::uint16_t flags;
  std::int32_t process;
};

/// Returns the process id in a name of the provider, "<process>:<user>:<number>", or of ours,
/// "<process>.<PID namespace>:<user>:<number>"; absent for another name, and another user.
std::optional<pid_t> process_in(std::string_view name) {
  const std::size_t first = name.find(':');
  const std::size_t second = name.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const std::string_view owner = name.substr(0, first);
  const std::size_t dot = owner.find('.');
  if (dot != std::string_view::npos && !to_number<ino_t>(owner.substr(dot + 1)))
    return std::nullopt;
  const auto process = to_number<pid_t>(owner.substr(0, dot));
  const auto user = to_number<uid_t>(name.substr(first + 1, second - first - 1));
  const auto number = to_number<unsigned>(name.substr(second + 1));
  if (!process || *process <= 0 || user != ::getuid() || !number) return std::nullopt;
  return process;
}

bool has_ended(pid_t process) {
  return ::kill(process, 0) != 0 && errno == ESRCH;
}

/// Returns true if the file is this user's own, and begins as the provider's files of that process.
bool is_left_by(int file, pid_t process) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (status.st_uid != ::geteuid() || status.st_nlink != 1) return false;
  Head head{};
  return ::pread(file, &head, sizeof(head), 0) == static_cast<ssize_t>(sizeof(head)) &&
         head.process == process;
}

/// Returns true if no other process has the file open or mapped. The kernel grants a lease for
/// writing only then.
bool is_unused(int file) {
  // A process that opens the file meanwhile causes a signal; SIGIO would end this process.
  if (::fcntl(file, F_SETSIG, SIGURG) != 0) return false;
  if (::fcntl(file, F_SETLEASE, F_WRLCK) != 0) return false;
  return ::fcntl(file, F_SETLEASE, F_UNLCK) == 0;
}

}  // namespace

void remove_left_files(const std::filesystem::path& folder) noexcept try {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto process = process_in(entry.path().filename().native());
    if (!process || !has_ended(*process)) continue;
    const UniqueFd file(
        ::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file && is_left_by(file.get(), *process) && is_unused(file.get()))
      ::unlink(entry.path().c_str());
  }
} catch (const std::exception&) {  // It only makes room.
}

}  // namespace fastgpu::comm::fabric
