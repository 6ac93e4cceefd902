#include "transfer/paths.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::transfer {

bool is_inner_path(std::string_view path) noexcept {
  if (path.find('\0') != path.npos) return false;
  for (std::string_view rest = path;;) {
    const auto slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    if (name.empty() || name == "." || name == "..") return false;
    if (slash == rest.npos) return true;
    rest.remove_prefix(slash + 1);
  }
}

void check_inner_path(std::string_view path) {
  if (!is_inner_path(path))
    throw Error(ErrorKind::denied,
                "the other side sent the path '" + printable(path) + "', which is refused");
}

std::pair<std::string, std::string> split_path(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == path.npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string top_name(const std::filesystem::path& source) {
  std::filesystem::path name = source.filename();
  if (name.empty()) name = source.parent_path().filename();
  return name == "." || name == ".." || name == "/" ? "" : name.string();
}

void require_distinct_names(std::span<const std::string> sources) {
  std::map<std::string, std::string> known;
  for (const std::string& source : sources) {
    const std::string name = top_name(source);
    if (name.empty()) continue;
    const auto [other, is_new] = known.emplace(name, source);
    if (is_new || std::filesystem::path(other->second).lexically_normal() ==
                      std::filesystem::path(source).lexically_normal())
      continue;
    throw Error(ErrorKind::usage, "'" + printable(other->second) + "' and '" + printable(source) +
                                      "' would both be '" + printable(name) +
                                      "' at the destination: copy the directory that has both, or "
                                      "rename one");
  }
}

UniqueFd open_below(int root, std::string_view path) {
  UniqueFd at(::openat(root, ".", kDirectoryFlags));
  while (at && !path.empty()) {
    const std::string name(path.substr(0, path.find('/')));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    at = UniqueFd(::openat(at.get(), name.c_str(), kDirectoryFlags));
  }
  return at;
}

mode_t permission_bits(std::uint32_t mode) noexcept {
  return static_cast<mode_t>(mode & 01777U);
}

timespec as_timespec(FileTime time) noexcept {
  constexpr FileTime kSecond = 1'000'000'000;
  FileTime seconds = time / kSecond;
  if (time % kSecond < 0) --seconds;  // Nanoseconds count forwards, also before 1970.
  return {seconds, static_cast<long>(time - seconds * kSecond)};
}

}  // namespace fastgpu::transfer
