#include "provision/providers/local/init/fuse.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/error.hpp"
#include "provision/providers/local/init/system.hpp"
#include "provision/providers/local/mounts.hpp"

namespace fastgpu::provision::local {
namespace {

// Called by number, as the C library's wrappers are younger than the kernel's calls.
void configure(const UniqueFd& context, unsigned command, const char* key, const char* value) {
  if (::syscall(SYS_fsconfig, context.get(), command, key, value, 0) != 0)
    throw system_error("making a FUSE file system", errno);
}

/// Returns a file system whose requests come out of `channel`.
UniqueFd make_file_system(const UniqueFd& channel) {
  const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "fuse", FSOPEN_CLOEXEC)));
  if (!context) throw system_error("opening FUSE", errno);
  const auto set = [&](const char* key, const std::string& value) {
    configure(context, FSCONFIG_SET_STRING, key, value.c_str());
  };
  set("source", "fastgpu");
  set("fd", std::to_string(channel.get()));
  set("rootmode", "40000");
  set("user_id", "0");
  set("group_id", "0");
  configure(context, FSCONFIG_SET_FLAG, "allow_other", nullptr);
  configure(context, FSCONFIG_SET_FLAG, "default_permissions", nullptr);
  configure(context, FSCONFIG_CMD_CREATE, nullptr, nullptr);
  // In a user namespace, programs of root have the user 65534 as their owner. Run set-user-ID, they
  // would run as that user.
  UniqueFd tree(
      static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID)));
  if (!tree) throw system_error("mounting a FUSE file system", errno);
  return tree;
}

[[noreturn]] void become_server(const std::string& program, const std::string& options,
                                int channel) {
  let_go_of_streams();
  ::fcntl(channel, F_SETFD, 0);
  const std::string place = "/dev/fd/" + std::to_string(channel);
  std::array<const char*, 6> argv = {program.c_str(), "-f",          "-o",
                                     options.c_str(), place.c_str(), nullptr};
  std::array<const char*, 2> environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", nullptr};
  // execve takes strings that it does not change without const.
  ::execve(program.c_str(), const_cast<char**>(argv.data()),
           const_cast<char**>(environment.data()));
  std::perror(program.c_str());
  ::_exit(127);
}

}  // namespace

UniqueFd serve_overlay(const std::string& fuse_overlayfs, const OverlayOrder& overlay) {
  const UniqueFd channel(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!channel) throw system_error("opening /dev/fuse", errno);
  UniqueFd tree = make_file_system(channel);
  const std::string options =
      overlay_options(overlay.point, overlay.storage + "/upper", overlay.storage + "/work");
  const pid_t server = ::fork();
  if (server < 0) throw system_error("starting " + fuse_overlayfs, errno);
  if (server == 0) become_server(fuse_overlayfs, options, channel.get());
  return tree;
}

void attach(const UniqueFd& tree, const std::string& target) {
  if (::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, target.c_str(),
                MOVE_MOUNT_F_EMPTY_PATH) != 0)
    throw system_error("mounting the node's file system at " + target, errno);
}

}  // namespace fastgpu::provision::local
