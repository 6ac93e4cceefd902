#include "provision/providers/local/overlay_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/cancel.hpp"
#include "base/chosen_place.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/split.hpp"
#include "process/capture.hpp"
#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/mounts.hpp"

namespace fastgpu::provision::local {
namespace {

namespace fs = std::filesystem;

constexpr std::array kDisks = {"ext4", "xfs", "btrfs", "ext3", "ext2", "f2fs", "zfs"};
// A smaller place would be full after the first job.
constexpr std::uint64_t kLeastRoom = 256ULL << 20U;

fs::path id_file(const LocalConfig& config) {
  return config.root / "id";
}
fs::path storage_file(const LocalConfig& config) {
  return config.root / "storage";
}

bool has_room(const fs::path& folder) {
  struct statvfs found {};
  return ::statvfs(folder.c_str(), &found) == 0 && found.f_bavail * found.f_frsize >= kLeastRoom &&
         (found.f_flag & ST_RDONLY) == 0;
}

/// Makes a folder, or accepts an existing one that only this user can have made.
bool make_own_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0) return true;
  struct stat found {};
  return errno == EEXIST && ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::geteuid() && (found.st_mode & 077) == 0;
}

/// Returns the reason why an overlay cannot be stored below `folder`; "" if it can.
std::string refusal(const LocalConfig& config, const fs::path& folder) {
  const fs::path scratch = folder / ("probe-" + random_hex(4));
  if (::mkdir(scratch.c_str(), 0700) != 0)
    return std::error_code(errno, std::generic_category()).message();
  process::Command command{
      .argv = {config.init_program.string(), "probe", scratch.string(), config.fuse_overlayfs}};
  const process::Captured probe = process::capture(command, {}, Cancel());
  remove_tree(scratch);
  return probe.status.ok() ? "" : std::string(trimmed(probe.err + probe.out, "\n"));
}

std::vector<fs::path> candidates() {
  std::vector<fs::path> folders = {"/var/lib", "/var/tmp"};
  std::vector<fs::path> memory;
  for (const MountEntry& mount : parse_mountinfo(read_file("/proc/self/mountinfo").value_or(""))) {
    if (mount.read_only) continue;
    if (contains(kDisks, mount.type)) folders.emplace_back(mount.point);
    if (mount.type == "tmpfs") memory.emplace_back(mount.point);
  }
  folders.insert(folders.end(), memory.begin(), memory.end());
  return folders;
}

std::optional<fs::path> find_elsewhere(const LocalConfig& config, const std::string& id) {
  for (const fs::path& parent : candidates()) {
    std::error_code error;
    if (!fs::is_directory(parent, error) || !has_room(parent)) continue;
    const fs::path folder = parent / ("fastgpu-local-" + id);
    if (!make_own_folder(folder)) continue;
    if (refusal(config, folder).empty()) return folder;
    ::rmdir(folder.c_str());
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_root_id(const LocalConfig& config) {
  const auto text = read_file(id_file(config));
  return text ? std::optional<std::string>(trimmed(*text, "\n")) : std::nullopt;
}

std::optional<fs::path> find_storage(const LocalConfig& config) {
  const auto text = read_file(storage_file(config));
  return text ? std::optional<fs::path>(trimmed(*text, "\n")) : std::nullopt;
}

std::string make_root_id(const LocalConfig& config) {
  if (const auto found = find_root_id(config)) return *found;
  const ChosenPlace place{.name = "the folder of local nodes",
                          .path = config.root,
                          .choice = "choose another place with FASTGPU_LOCAL_DIR"};
  return at_place(place, [&] {
    make_private_folder(config.root);
    std::string id = random_hex(4);
    replace_file(id_file(config), id + "\n", 0600, Durability::on_disk);
    return id;
  });
}

fs::path choose_storage(const LocalConfig& config) {
  const std::string id = make_root_id(config);
  if (const auto found = find_storage(config)) {
    // The root is the user's choice, mode included; other places may be open to all users.
    if (*found == config.root ? fs::is_directory(*found) : make_own_folder(*found)) return *found;
    throw Error(
        ErrorKind::local,
        found->string() +
            ", the folder of local nodes, is missing or not private: restore it, or delete " +
            storage_file(config).string() + " to start over");
  }
  const std::string reason = refusal(config, config.root);
  std::optional<fs::path> place = config.root;
  if (!reason.empty()) place = find_elsewhere(config, id);
  if (!place)
    throw Error(ErrorKind::local,
                config.root.string() + " cannot carry the file systems of local nodes (" + reason +
                    "), and no other file system here can: set FASTGPU_LOCAL_DIR to a folder on "
                    "ext4, xfs, btrfs or tmpfs");
  replace_file(storage_file(config), place->string() + "\n", 0600, Durability::on_disk);
  return *place;
}

void release_storage(const LocalConfig& config) {
  const auto place = find_storage(config);
  if (!place || *place == config.root || ::rmdir(place->c_str()) != 0) return;
  ::unlink(storage_file(config).c_str());
}

}  // namespace fastgpu::provision::local
