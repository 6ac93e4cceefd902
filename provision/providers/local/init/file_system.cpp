#include "provision/providers/local/init/file_system.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.hpp"
#include "provision/providers/local/init/devices.hpp"
#include "provision/providers/local/init/fuse.hpp"
#include "provision/providers/local/init/system.hpp"
#include "provision/providers/local/mounts.hpp"

namespace fastgpu::provision::local {
namespace {

void keep_mounts_private() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    throw system_error("making the mounts private (is / a mount point here?)", errno);
}

void mount_overlay(const OverlayOrder& overlay, const std::string& target) {
  mount_at("fastgpu", target, "overlay", 0,
           overlay_options(overlay.point, overlay.storage + "/upper", overlay.storage + "/work"));
}

/// Mounts the root's overlay. `tree` is closed: from then on the mount alone keeps its server
/// running.
void mount_first(const OverlayOrder& overlay, UniqueFd tree, const std::string& target) {
  if (tree) {
    attach(tree, target);
  } else {
    mount_overlay(overlay, target);
  }
}

/// Mounts a disk of this machine below "/". One that cannot carry an overlay is shown read-only.
void mount_further(const OverlayOrder& overlay, const Root& root) {
  const UniqueFd place = root.find(overlay.point);
  if (!place) return;  // The node has removed the folder.
  try {
    mount_overlay(overlay, path_of(place));
  } catch (const Error& e) {
    std::fprintf(stderr, "%s; it is shown read-only\n", e.what());
    mount_at(overlay.point, path_of(place), nullptr, MS_BIND, "");
    const UniqueFd inside = root.find(overlay.point);
    mount_at("", path_of(inside), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, "");
  }
}

void mount_kernel_windows(const Root& root) {
  const UniqueFd proc = root.find("/proc");
  const UniqueFd sys = root.find("/sys");
  const UniqueFd run = root.find("/run");
  if (!proc || !sys || !run)
    throw Error(ErrorKind::local, "the node's tree lacks /proc, /sys or /run");
  mount_at("proc", path_of(proc), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "");
  constexpr unsigned long kSysFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
  if (::mount("sysfs", path_of(sys).c_str(), "sysfs", kSysFlags, nullptr) != 0) {
    // Mounts below /sys must come along in a user namespace.
    if (::mount("/sys", path_of(sys).c_str(), nullptr, MS_BIND, nullptr) != 0)
      mount_at("/sys", path_of(sys), nullptr, MS_BIND | MS_REC, "");
    const UniqueFd inside = root.find("/sys");
    mount_at("", path_of(inside), nullptr, MS_REMOUNT | MS_BIND | kSysFlags, "");
  }
  mount_at("fastgpu", path_of(run), "tmpfs", MS_NOSUID | MS_NODEV, "mode=755");
}

void cover(const std::string& folder, const Root& root) {
  const UniqueFd place = root.find(folder);
  if (!place) return;
  mount_at("fastgpu", path_of(place), "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
           "size=4k,mode=755");
}

void change_root(const std::string& directory) {
  if (::chdir(directory.c_str()) != 0) throw system_error("entering " + directory, errno);
  // Both names are the same folder: the old root is mounted over the new one, and detached.
  if (::syscall(SYS_pivot_root, ".", ".") != 0)
    throw system_error("changing to the node's root", errno);
  if (::umount2(".", MNT_DETACH) != 0) throw system_error("detaching this machine's root", errno);
  if (::chdir("/") != 0) throw system_error("entering the node's root", errno);
}

/// Gives the node a boot identity: programs compare it to see whether two processes share a
/// machine.
void give_boot_identity() {
  const char* const place = "/proc/sys/kernel/random/boot_id";
  const std::string identity = read_text("/proc/sys/kernel/random/uuid");
  write_text("/run/fastgpu/boot_id", identity);
  ::mount("/run/fastgpu/boot_id", place, nullptr, MS_BIND, nullptr);
  ::mount(nullptr, place, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr);
}

void fill_run() {
  make_directory("/run/sshd", 0755);  // sshd confines its unprivileged half to it.
  make_directory("/run/lock", 01777);
  make_directory("/run/user", 0755);
  make_directory("/run/fastgpu", 0755);
}

}  // namespace

void enter_file_system(const BootOrder& order, UniqueFd tree) {
  keep_mounts_private();
  const std::string merged = order.directory + "/merged";
  mount_first(order.overlays.front(), std::move(tree), merged);
  for (const char* folder : {"/proc", "/sys", "/dev", "/run"})
    make_directory(merged + folder, 0755);
  const Root root(merged);
  for (std::size_t i = 1; i < order.overlays.size(); ++i)
    mount_further(order.overlays[i], root);
  mount_kernel_windows(root);
  mount_devices(root);
  for (const std::string& folder : order.hidden)
    cover(folder, root);
  change_root(merged);
  fill_run();
  give_boot_identity();
}

void try_overlay(const OverlayOrder& overlay, UniqueFd tree) {
  keep_mounts_private();
  const std::string merged = overlay.storage + "/merged";
  mount_first(overlay, std::move(tree), merged);
  make_directory(merged + "/fastgpu-probe", 0700);
}

}  // namespace fastgpu::provision::local
