#include "provision/providers/local/mounts.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "base/contains.hpp"

namespace fastgpu::provision::local {
namespace {

constexpr std::array kOwnPlaces = {"/proc", "/sys", "/dev", "/run", "/tmp"};

// Kernel interfaces, file systems in memory, and automatic mounts: they are not disks.
constexpr std::array kNoDisk = {
    "autofs",          "binfmt_misc", "bpf",       "cgroup",   "cgroup2", "configfs",
    "debugfs",         "devpts",      "devtmpfs",  "efivarfs", "fuse",    "fusectl",
    "hugetlbfs",       "mqueue",      "nsfs",      "proc",     "pstore",  "ramfs",
    "rpc_pipefs",      "securityfs",  "selinuxfs", "sysfs",    "tmpfs",   "tracefs",
    "fuse.gvfsd-fuse", "fuse.portal", "nfsd",      "smackfs"};

/// Decodes mountinfo's space, tab, newline and backslash, each of which is three octal digits.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t k) { return text[i + k] >= '0' && text[i + k] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && digit(1) && digit(2) && digit(3)) {
      out +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool has_option(std::string_view options, std::string_view wanted) {
  std::istringstream in{std::string(options)};
  for (std::string option; std::getline(in, option, ',');)
    if (option == wanted) return true;
  return false;
}

bool is_own_place(std::string_view path) {
  return std::ranges::any_of(kOwnPlaces, [&](const char* own) { return lies_in(path, own); });
}

/// Returns the path as one folder's name.
std::string folder_name(std::string_view path) {
  std::string out;
  for (const char c : path)
    out += c == '/' ? std::string("%2F") : c == '%' ? std::string("%25") : std::string(1, c);
  return out;
}

std::string escape(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c == '\\' || c == ',' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::vector<MountEntry> parse_mountinfo(std::string_view text) {
  std::vector<MountEntry> mounts;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, point, options, word;
    words >> id >> parent >> device >> root >> point >> options;
    while (words >> word && word != "-") {
    }
    std::string type;
    if (words >> type) mounts.push_back({unescape(point), type, has_option(options, "ro")});
  }
  return mounts;
}

bool lies_in(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

const MountEntry& mount_of(const std::vector<MountEntry>& mounts, std::string_view path) {
  const MountEntry* best = &mounts.front();
  for (const MountEntry& mount : mounts)
    if (lies_in(path, mount.point) && mount.point.size() >= best->point.size()) best = &mount;
  return *best;
}

std::vector<Layer> choose_layers(const std::vector<MountEntry>& mounts,
                                 const std::vector<std::string>& hidden) {
  std::map<std::string, std::string> type_of;  // The last mount on a place is the visible one.
  for (const MountEntry& mount : mounts)
    type_of[mount.point] = mount.type;
  std::vector<Layer> layers = {{"/", "root"}};
  for (const auto& [point, type] : type_of) {
    const auto covers = [&path = point](const std::string& folder) {
      return lies_in(path, folder);
    };
    if (point == "/" || is_own_place(point) || std::ranges::any_of(hidden, covers)) continue;
    if (!contains(kNoDisk, type)) layers.push_back({point, folder_name(point)});
  }
  return layers;
}

PlaceInLayer find_place(const std::vector<Layer>& layers, std::string_view path) {
  const Layer* nearest = &layers.front();  // The layer of "/".
  for (const Layer& layer : layers)
    if (lies_in(path, layer.point) && layer.point.size() >= nearest->point.size()) nearest = &layer;
  std::string_view rest = path.substr(nearest->point.size());
  while (rest.starts_with('/'))
    rest.remove_prefix(1);
  return {nearest, std::string(rest)};
}

std::string overlay_options(std::string_view lower, std::string_view upper, std::string_view work) {
  return "lowerdir=" + escape(lower) + ",upperdir=" + escape(upper) + ",workdir=" + escape(work);
}

}  // namespace fastgpu::provision::local
