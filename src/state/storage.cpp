#include "state/storage.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/literals.hpp"
#include "base/names.hpp"

namespace fastgpu::state {
namespace {

constexpr std::size_t kLongestAddress = 253;
constexpr std::size_t kLongestPath = 1'000;

bool is_word_character(char c) {
  return is_ascii_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
}

bool is_word(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.front() != '.' &&
         std::ranges::all_of(text, is_word_character);
}

/// Returns true for "/" and for paths such as "/a/b" without a part that leads elsewhere.
bool is_path(std::string_view text) {
  if (!text.starts_with('/') || text.size() > kLongestPath) return false;
  if (text == "/") return true;
  for (std::size_t begin = 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    if (!is_word(text.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

/// Returns true for a path that a node needs; a mount there would hide it.
bool belongs_to_the_system(std::string_view path) {
  constexpr std::array kWhole = {"/", "/home", "/mnt", "/opt", "/root", "/srv", "/tmp"};
  constexpr std::array kWithAllBelow = {"bin",  "boot", "dev", "etc",  "lib", "lib32", "lib64",
                                        "proc", "run",  "sys", "sbin", "usr", "var"};
  const std::string_view first = path.substr(1, path.find('/', 1) - 1);
  return contains(kWhole, path) || contains(kWithAllBelow, first);
}

[[noreturn]] void refuse_mount(std::string_view text, const std::string& why) {
  throw Error(ErrorKind::usage, "'" + printable(text, 200) + "' cannot be mounted: " + why);
}

}  // namespace

DataDisk parse_data_disk(std::string_view text) {
  constexpr int kLargest = 65'536;
  constexpr std::size_t kLongestType = 32;
  const std::size_t colon = text.find(':');
  DataDisk disk{.gib = parse_gib(text.substr(0, colon), 1, kLargest)};
  if (colon != std::string_view::npos) disk.type = text.substr(colon + 1);
  const bool is_typed =
      colon == std::string_view::npos || (is_word(disk.type) && disk.type.size() <= kLongestType);
  if (!is_typed)
    throw Error(ErrorKind::usage,
                "'" + printable(text) +
                    "' is not a data disk: write its size, such as 500 (GiB) or 10TB, or its size "
                    "and the cloud's disk type, such as 500:gp3");
  return disk;
}

std::string to_text(const DataDisk& disk) {
  if (disk.gib == 0) return {};
  return std::to_string(disk.gib) + (disk.type.empty() ? "" : ":" + disk.type);
}

Mount parse_mount(std::string_view text) {
  const std::size_t equals = text.find('=');
  std::string_view source = text.substr(0, equals);
  std::string_view path = equals == std::string_view::npos ? kSharedPath : text.substr(equals + 1);
  const std::size_t colon = source.find(':');
  const std::string_view address = source.substr(0, colon);
  if (colon == std::string_view::npos || !is_word(address) || address.size() > kLongestAddress)
    refuse_mount(text, "write ADDRESS:/EXPORT, such as 10.0.0.4:/models, or ADDRESS:/EXPORT=/PATH");
  for (std::string_view* each : {&source, &path})
    while (each->size() > 1 && each->ends_with('/') && !each->ends_with(":/"))
      each->remove_suffix(1);
  if (!is_path(source.substr(colon + 1)))
    refuse_mount(text, "its export is not an absolute path of letters, digits and ._-");
  if (!is_path(path))
    refuse_mount(text, "its path is not an absolute path of letters, digits and ._-");
  if (belongs_to_the_system(path))
    refuse_mount(text, std::string(path) + " is the system's own: choose another path, such as " +
                           std::string(kSharedPath));
  return {.source = std::string(source), .path = std::string(path)};
}

std::string to_text(const Mount& mount) {
  return mount.source + "=" + mount.path;
}

}  // namespace fastgpu::state
