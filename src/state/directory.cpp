#include "state/directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/file_status.hpp"
#include "base/files.hpp"
#include "base/names.hpp"
#include "base/quote.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::state {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestClusterId = 64;

std::optional<fs::path> absolute_path(const Environment& environment, const char* name) {
  const std::optional<std::string> value = environment(name);
  if (!value || value->empty() || value->front() != '/') return std::nullopt;
  return fs::path(*value);
}

void sync_directory(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) throw system_error("syncing " + path.string(), errno);
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

fs::path choose_directory(const Environment& environment) {
  const std::optional<std::string> own = environment("FASTGPU_STATE_DIR");
  if (own && !own->empty()) return fs::absolute(*own).lexically_normal();
  if (const auto state_home = absolute_path(environment, "XDG_STATE_HOME"))
    return *state_home / "fastgpu";
  if (const auto home = absolute_path(environment, "HOME"))
    return *home / ".local" / "state" / "fastgpu";
  const std::string home = environment("HOME").value_or("");
  const std::string why =
      home.empty() ? "HOME is not set" : "HOME='" + printable(home) + "' is not an absolute path";
  throw Error(ErrorKind::usage,
              "no place for fastgpu's state: " + why + "; set it or FASTGPU_STATE_DIR");
}

void make_private_directory(const fs::path& path) {
  if (path.empty() || path == path.root_path()) return;
  if (const auto status = find_status(path)) {
    if (!S_ISDIR(status->st_mode))
      throw system_error("using " + path.string() + " as a directory", ENOTDIR);
    if (status->st_uid == ::geteuid() || status->st_uid == 0) return;
    throw Error(ErrorKind::denied, "the directory " + path.string() + " belongs to uid " +
                                       std::to_string(status->st_uid) +
                                       ", and not to this account");
  }
  make_private_directory(path.parent_path());
  if (::mkdir(path.c_str(), 0700) == 0) return;
  const int error = errno;
  if (error != EEXIST || !path_exists(path))  // A dangling link exists, too.
    throw system_error("making the directory " + path.string(), error);
  make_private_directory(path);  // Another process has created it just now.
}

Error read_only_directory(const std::filesystem::path& directory) {
  return {ErrorKind::denied, "the state directory " + directory.string() +
                                 " is read-only: make it writable, or set FASTGPU_STATE_DIR to "
                                 "another place"};
}

Error state_file_error(const std::string& doing, const fs::path& file, int error) {
  const Error plain = system_error(doing + " " + file.string(), error);
  struct stat status {};
  if (error != EACCES || ::stat(file.c_str(), &status) != 0 || status.st_uid == ::geteuid())
    return plain;
  const std::string owner = status.st_uid == 0 ? "root" : "uid " + std::to_string(status.st_uid);
  const fs::path folder = file.parent_path();
  const fs::path place = folder.filename() == "locks" ? folder.parent_path() : folder;
  return {plain.kind(), std::string(plain.what()) + ": it belongs to " + owner +
                            ", as after a command with sudo; give it back: sudo chown -R " +
                            std::to_string(::geteuid()) + " " + shell_quote(place.string())};
}

fs::path cluster_directory(const fs::path& directory, const ClusterId& cluster) {
  // The id is empty while a new cluster's hosts are checked.
  const bool is_name = std::ranges::all_of(cluster.value, [](char c) {
    return (c >= 'a' && c <= 'z') || is_ascii_digit(c) || c == '-';
  });
  if (!is_name || cluster.value.size() > kLongestClusterId)
    throw Error(ErrorKind::remote,
                "'" + printable(cluster.value) + "' is not the identity of a cluster");
  return directory / "clusters" / cluster.value;
}

fs::path identity_file(const fs::path& directory, const ClusterId& cluster) {
  return cluster_directory(directory, cluster) / "id_ed25519";
}

void write_private_file(const fs::path& path, const std::string& text) {
  const fs::path draft = path.string() + "." + std::to_string(::getpid()) + ".new";
  try {
    const UniqueFd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd) throw system_error("writing " + draft.string(), errno);
    write_all(fd.get(), text, "writing " + draft.string());
    if (::fsync(fd.get()) != 0) throw system_error("writing " + draft.string() + " to disk", errno);
    if (::rename(draft.c_str(), path.c_str()) != 0)
      throw system_error("writing " + path.string(), errno);
  } catch (const Error&) {
    ::unlink(draft.c_str());
    throw;
  }
  sync_directory(path.parent_path());
}

}  // namespace fastgpu::state
