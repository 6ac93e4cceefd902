#include "state/lock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <sstream>
#include <string>

#include "base/chosen_place.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host_names.hpp"
#include "base/units.hpp"
#include "state/directory.hpp"
#include "state/private_place.hpp"

namespace fastgpu::state {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kBetweenAttempts{25};

fs::path lock_file(const fs::path& state_directory, const ClusterName& cluster) {
  check_dotted_name("cluster name", cluster.value);
  return state_directory / "locks" / (cluster.value + ".lock");
}

/// Returns true if `path` still names the file that `fd` has open. The holder may have removed it.
bool is_same_file(int fd, const fs::path& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

/// Writes the holder and the present time into the file, for the messages of waiting processes. The
/// kernel keeps the lock itself, so that a full disk only affects the message.
void sign(int fd) noexcept {
  std::array<char, 64> line{};
  const int length =
      std::snprintf(line.data(), line.size(), "%ld %lld\n", static_cast<long>(::getpid()),
                    static_cast<long long>(std::time(nullptr)));
  if (::ftruncate(fd, 0) != 0) return;
  [[maybe_unused]] const ssize_t written =
      ::pwrite(fd, line.data(), static_cast<std::size_t>(length), 0);
}

/// Returns the locked file; empty if another process holds the lock.
UniqueFd attempt(const fs::path& path) {
  for (;;) {
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file && errno == EROFS) throw read_only_directory(path.parent_path().parent_path());
    if (!file) throw state_file_error("opening the lock", path, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
      throw Error(ErrorKind::local, "the lock " + path.string() + " is not a regular file");
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return {};
      throw system_error("locking " + path.string(), errno);
    }
    if (!is_same_file(file.get(), path)) continue;
    sign(file.get());
    return file;
  }
}

/// Returns the holder that the file names: "process 4711 (for 2m05s)".
std::string holder(const fs::path& path) {
  long process = 0;
  long long since = 0;
  std::istringstream text(read_file(path).value_or(""));
  if (!(text >> process >> since)) return "another process";
  const long long age = std::max(0LL, static_cast<long long>(std::time(nullptr)) - since);
  return "process " + std::to_string(process) + ", for " +
         fastgpu::to_string(milliseconds(age * 1000)) + " now";
}

void wait_a_little(milliseconds limit, const Cancel& cancel) {
  pollfd entry{.fd = cancel.fd(), .events = POLLIN, .revents = 0};
  ::poll(&entry, 1, static_cast<int>(std::min(limit, kBetweenAttempts).count()));
  cancel.check();
}

}  // namespace

ClusterLock::ClusterLock(const Store& store, ClusterName cluster, fs::path path, UniqueFd file)
    : store_(&store),
      cluster_(std::move(cluster)),
      path_(std::move(path)),
      file_(std::move(file)) {}

ClusterLock::ClusterLock(const Store& store, const ClusterName& cluster, milliseconds timeout,
                         const Cancel& cancel)
    : ClusterLock(store, cluster, lock_file(store.directory(), cluster), {}) {
  at_place(state_place(store.directory()), [&] { make_private_directory(path_.parent_path()); });
  const auto deadline = steady_clock::now() + timeout;
  for (;;) {
    file_ = attempt(path_);
    if (file_) return;
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left <= milliseconds::zero())
      throw Error(ErrorKind::conflict, "cluster '" + cluster.value + "' is being changed by " +
                                           holder(path_) + ": wait for it, or end that process");
    wait_a_little(left, cancel);
  }
}

/// Removes the file while holding the lock. A process that waits for it notices this and locks a
/// new file.
ClusterLock::~ClusterLock() {
  if (!file_) return;
  try {
    if (!store_->find_cluster(cluster_)) ::unlink(path_.c_str());
  } catch (const Error&) {  // The file stays, which costs nothing but its name.
    return;
  }
}

std::optional<ClusterLock> ClusterLock::try_lock(const Store& store, const ClusterName& cluster) {
  fs::path path = lock_file(store.directory(), cluster);
  make_private_directory(path.parent_path());
  UniqueFd file = attempt(path);
  if (!file) return std::nullopt;
  return ClusterLock(store, cluster, std::move(path), std::move(file));
}

}  // namespace fastgpu::state
