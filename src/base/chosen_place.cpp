#include "base/chosen_place.hpp"

#include <stdlib.h>  // mkdtemp
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "base/names.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfPath = 200;

std::string shown(const fs::path& path) {
  return printable(path.string(), kMostOfPath);
}

/// Returns true if there is an entry of this name, be it a link that leads nowhere.
bool has_entry(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw system_error("looking at " + shown(path), errno);
}

/// Returns the path itself, or the nearest entry above it that exists.
fs::path nearest_entry(const fs::path& path) {
  std::error_code failure;
  fs::path place = fs::absolute(path, failure);
  if (failure) throw system_error("looking for the current directory", failure.value());
  while (!has_entry(place) && place.has_relative_path())
    place = place.parent_path();
  return place;
}

/// Returns what the user can do about an error; absent if it is not about a place.
std::optional<std::string> remedy_for(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::local:
      return "";
    case ErrorKind::denied:
      return "make it writable for this account, or ";
    case ErrorKind::capacity:
      return "free some space there, or ";
    case ErrorKind::usage:
    case ErrorKind::not_found:
    case ErrorKind::conflict:
    case ErrorKind::transient:
    case ErrorKind::timeout:
    case ErrorKind::interrupted:
    case ErrorKind::remote:
    case ErrorKind::internal:
      return std::nullopt;
  }
  return std::nullopt;
}

fs::path existing_directory(const ChosenPlace& place) {
  fs::path nearest = at_place(place, [&] { return nearest_entry(place.path); });
  std::error_code unknown;
  if (fs::is_directory(nearest, unknown)) return nearest;
  throw Error(ErrorKind::usage, place.name + " " + shown(place.path) + " cannot be used: " +
                                    shown(nearest) + " is not a directory; " + place.choice);
}

}  // namespace

Error unusable(const ChosenPlace& place, const Error& why) {
  const auto remedy = remedy_for(why.kind());
  if (!remedy) return why;
  return {why.kind() == ErrorKind::local ? ErrorKind::usage : why.kind(),
          place.name + " " + shown(place.path) + " cannot be used: " + why.what() + "; " + *remedy +
              place.choice};
}

void require_directory(const ChosenPlace& place) {
  existing_directory(place);
}

void require_files_in(const ChosenPlace& place, const fs::path& directory) {
  std::string name = (directory / ".fastgpu-trial-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw Error(
        unusable(place, system_error("nothing can be written in " + shown(directory), errno)));
  ::rmdir(name.c_str());
}

void require_writable_directory(const ChosenPlace& place) {
  require_files_in(place, existing_directory(place));
}

}  // namespace fastgpu
