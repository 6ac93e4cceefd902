#include "agent/files/disk.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "base/error.hpp"
#include "base/files.hpp"
#include "transfer/node_path.hpp"

namespace fastgpu::agent {
namespace {

Error failed(const char* doing, const std::filesystem::path& path) {
  return disk_error(doing, path, errno);
}

bool is_about_room(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT;
}

/// Returns false if the file system has as many files as it can have. `path` may not exist.
bool has_room_for_files(std::filesystem::path path) {
  struct statvfs found {};
  while (::statvfs(path.c_str(), &found) != 0) {
    if (errno != ENOENT || !path.has_relative_path()) return true;
    path = path.parent_path();
  }
  return found.f_files == 0 || found.f_favail > 0;
}

/// Opens a regular file. Refuses devices, and everything else that could block.
UniqueFd open_regular(const std::filesystem::path& path, int flags, unsigned mode = 0600) {
  UniqueFd file(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC, mode));
  struct stat status {};
  if (file && ::fstat(file.get(), &status) == 0 && !S_ISREG(status.st_mode))
    throw Error(ErrorKind::local, path.string() + " is not a regular file");
  return file;
}

/// Opens a regular file for writing. Does not follow a link, which could lead to another file.
UniqueFd open_to_write(const std::filesystem::path& path, int flags) {
  return open_regular(path, flags | O_CREAT | O_NOFOLLOW);
}

}  // namespace

Error disk_error(std::string_view doing, const std::filesystem::path& path, int error_number) {
  if (!is_about_room(error_number))
    return system_error(std::string(doing) + " " + path.string(), error_number);
  const char* const what = error_number == EDQUOT     ? "the quota is used up on "
                           : has_room_for_files(path) ? "no space left on "
                                                      : "no file can be made any more (df -i) on ";
  return {ErrorKind::capacity, what + host_name() + ": " + path.string()};
}

bool is_full(const std::filesystem::path& directory) {
  constexpr std::size_t kSample = 4'096;
  const auto path = directory / (".room." + std::to_string(::getpid()));
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return is_about_room(errno);
  const std::string sample(kSample, '\0');
  const bool full = ::write(file.get(), sample.data(), sample.size()) < 0 && is_about_room(errno);
  ::unlink(path.c_str());
  return full;
}

std::filesystem::path below_home(const std::filesystem::path& path) {
  if (path.is_absolute()) return path;
  const char* home = ::getenv("HOME");
  if (home == nullptr || *home == '\0')
    throw Error(ErrorKind::local, "HOME is not set, so '" + path.string() + "' has no place");
  return transfer::below_home(path.string());
}

std::optional<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  const UniqueFd file = open_regular(path, O_RDONLY);
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!file) throw failed("opening", path);
  std::string text = read_to_end(file.get(), "reading " + path.string(), limit);
  if (text.size() > limit)
    throw Error(ErrorKind::local,
                path.string() + " is larger than " + std::to_string(limit) + " bytes");
  return text;
}

void write_atomically(const std::filesystem::path& path, std::string_view content, unsigned mode) {
  const std::filesystem::path temporary = path.string() + ".new." + std::to_string(::getpid());
  ::unlink(temporary.c_str());  // A leftover of a killed process with the same number.
  UniqueFd file = open_to_write(temporary, O_WRONLY | O_EXCL);
  if (!file || ::fchmod(file.get(), mode) != 0) throw failed("making", temporary);
  while (!content.empty()) {
    const ssize_t put = ::write(file.get(), content.data(), content.size());
    if (put > 0) content.remove_prefix(static_cast<std::size_t>(put));
    if (put >= 0 || errno == EINTR) continue;
    const Error error = failed("writing", path);
    ::unlink(temporary.c_str());
    throw Error(error);
  }
  file = UniqueFd();
  if (::rename(temporary.c_str(), path.c_str()) != 0) throw failed("making", path);
}

UniqueFd open_for_append(const std::filesystem::path& path) {
  UniqueFd file = open_to_write(path, O_WRONLY | O_APPEND);
  if (!file) throw failed("opening", path);
  return file;
}

void make_private_directory(const std::filesystem::path& path) {
  std::string made;
  int refusal = 0;  // Of the first directory that may be there although it cannot be made.
  for (const auto& part : path) {
    made += made.empty() || made.back() == '/' ? part.string() : "/" + part.string();
    if (::mkdir(made.c_str(), 0700) == 0 || errno == EEXIST) continue;
    const bool may_be_there = errno == EROFS || errno == EACCES || refusal != 0;
    if (!may_be_there) throw failed("making", made);
    if (refusal == 0) refusal = errno;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw disk_error("making", path, refusal != 0 ? refusal : errno);
  if (!S_ISDIR(status.st_mode))
    throw Error(ErrorKind::local, path.string() + " is not a directory");
  if (!may_be_ours(status.st_uid))
    throw Error(ErrorKind::denied, path.string() + " belongs to another user");
}

void write_files(const std::filesystem::path& directory, const std::vector<SmallFile>& files) {
  make_private_directory(directory);
  for (const SmallFile& file : files) {
    const auto path = directory / file.name;
    make_private_directory(path.parent_path());
    write_atomically(path, file.content, file.mode);
  }
}

bool may_be_ours(uid_t owner) noexcept {
  constexpr uid_t kNobody = 65'534;
  return owner == ::geteuid() || owner == 0 || owner == kNobody;
}

std::string read_all(int fd, std::size_t limit) {
  std::string text = read_to_end(fd, "reading the input", limit);
  if (text.size() > limit)
    throw Error(ErrorKind::usage, "the input is larger than " + std::to_string(limit) + " bytes");
  return text;
}

void write_all(int fd, std::string_view text) {
  fastgpu::write_all(fd, text, "writing");
}

void touch(const std::filesystem::path& path) {
  const UniqueFd file = open_to_write(path, O_WRONLY);
  if (!file || ::futimens(file.get(), nullptr) != 0) throw failed("renewing", path);
}

std::optional<UniqueFd> try_lock(const std::filesystem::path& path) {
  UniqueFd file = open_to_write(path, O_RDWR);
  if (!file) throw failed("opening", path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK) return std::nullopt;
  throw failed("locking", path);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::int64_t now_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

std::optional<std::int64_t> time_of_file(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace fastgpu::agent
