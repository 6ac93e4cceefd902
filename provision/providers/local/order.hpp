// What fastgpu-node-init is told: everything it takes to boot one node, decided beforehand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::provision::local {

/// One overlay to mount.
struct OverlayOrder {
  std::string point;    ///< Lower directory, and its place in the node.
  std::string storage;  ///< Holds "upper" and "work".
};

struct BootOrder {
  std::string directory;  ///< The node's own: "lock" and "merged" lie there.
  std::string node_name;
  std::string address;         ///< "10.64.0.10"; its /24 is the cluster's.
  std::string port_name;       ///< The link's name on this machine.
  int bridge = 0;              ///< The bridge's index.
  std::string link_rate;       ///< Bits per second; empty is without limit.
  std::string sshd;            ///< The program's path.
  std::string fuse_overlayfs;  ///< Likewise, where the kernel's own overlay may not be used.
  std::vector<OverlayOrder> overlays;  ///< "/" first, parents before children.
  std::vector<std::string> hidden;     ///< Folders to cover.
};

/// `key=value` pairs, each closed by a NUL byte: no path needs quoting.
std::string encode(const BootOrder& order);
/// Throws ErrorKind::internal for what `encode` has not written.
BootOrder decode(std::string_view text);

// What the init answers on its standard output, once.
constexpr std::string_view kReady = "ready";       ///< It serves, and lives by itself now.
constexpr std::string_view kHeld = "held";         ///< Another one lives already.
constexpr std::string_view kFailed = "failed: ";   ///< Followed by the reason; nothing runs.
constexpr std::string_view kNoRoom = "no room: ";  ///< The same where the disk is full.

// Where things are in a node.
constexpr const char* kSshdConfig = "/etc/fastgpu/sshd_config";
constexpr const char* kSshdPidFile = "/run/sshd.pid";  ///< Written when sshd listens.
constexpr const char* kSshdLog = "/var/log/fastgpu-sshd.log";

// What lies in the folder of a world (world.hpp).
constexpr std::string_view kWorldLock = "/lock";
constexpr std::string_view kWorldDoor = "/door";
constexpr std::string_view kUnmapped = "unmapped";  ///< The first answer: it waits for its ids.

}  // namespace fastgpu::provision::local
