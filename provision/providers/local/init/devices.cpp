#include "provision/providers/local/init/devices.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/c_handle.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "provision/providers/local/init/system.hpp"

namespace fastgpu::provision::local {
namespace {

constexpr std::array kShown = {"null", "zero",   "full", "random", "urandom", "tty",       "fuse",
                               "kfd",  "gdrdrv", "knem", "xpmem",  "dri",     "infiniband"};
constexpr std::string_view kShownPrefix = "nvidia";

constexpr std::array kLinks = {std::pair{"pts/ptmx", "ptmx"}, std::pair{"/proc/self/fd", "fd"},
                               std::pair{"/proc/self/fd/0", "stdin"},
                               std::pair{"/proc/self/fd/1", "stdout"},
                               std::pair{"/proc/self/fd/2", "stderr"}};

bool is_shown(std::string_view name) {
  return name.starts_with(kShownPrefix) || contains(kShown, name);
}

void show_device(const std::string& device, const std::string& target) {
  struct stat found {};
  if (::stat(device.c_str(), &found) != 0) return;  // A dangling link.
  if (S_ISDIR(found.st_mode)) {
    make_directory(target, 0755);
  } else {
    write_text(target, "");
  }
  mount_at(device, target, nullptr, MS_BIND | MS_REC, "");
}

int close_directory(DIR* directory) {
  return ::closedir(directory);
}

}  // namespace

void mount_devices(const Root& root) {
  const UniqueFd place = root.find("/dev");
  if (!place) throw Error(ErrorKind::local, "the node's tree has no /dev");
  mount_at("fastgpu", path_of(place), "tmpfs", MS_NOSUID | MS_STRICTATIME, "mode=755,size=4m");
  const UniqueFd inside = root.find("/dev");  // This is the new file system, under the same name.
  const std::string dev = path_of(inside) + "/";
  const CHandle<DIR, close_directory> here(::opendir("/dev"));
  if (!here) throw system_error("reading /dev", errno);
  while (const dirent* entry = ::readdir(here.get()))
    if (is_shown(entry->d_name))
      show_device(std::string("/dev/") + entry->d_name, dev + entry->d_name);
  for (const auto& [target, name] : kLinks) {
    if (::symlink(target, (dev + name).c_str()) != 0)
      throw system_error(std::string("making /dev/") + name, errno);
  }
  for (const char* folder : {"pts", "shm", "mqueue"})
    make_directory(dev + folder, 0755);
  mount_at("devpts", dev + "pts", "devpts", MS_NOSUID | MS_NOEXEC,
           "newinstance,ptmxmode=0666,mode=620,gid=5");
  mount_at("fastgpu", dev + "shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
  ::mount("mqueue", (dev + "mqueue").c_str(), "mqueue", 0, "");  // Absent from some kernels.
}

}  // namespace fastgpu::provision::local
