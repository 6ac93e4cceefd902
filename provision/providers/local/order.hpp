// The order to fastgpu-node-init: everything that is needed to boot one node, decided beforehand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::provision::local {

/// One overlay to mount.
struct OverlayOrder {
  std::string point;    ///< The lower directory, and its place in the node.
  std::string storage;  ///< The parent of "upper" and "work".
};

struct BootOrder {
  std::string directory;  ///< The node's own, with "lock" and "merged".
  std::string node_name;
  std::string address;         ///< "10.64.0.10"; its /24 is the cluster's.
  std::string port_name;       ///< The link's name on this machine.
  int bridge = 0;              ///< The bridge's index.
  std::string link_rate;       ///< Bits per second; empty: no limit.
  std::string sshd;            ///< The program's path.
  std::string fuse_overlayfs;  ///< The program's path, if the kernel's own overlay cannot be used.
  std::vector<OverlayOrder> overlays;  ///< "/" first, parents before children.
  std::vector<std::string> hidden;     ///< Folders to cover.
};

/// Returns `key=value` pairs, each closed by a NUL byte: no path needs quoting.
std::string encode(const BootOrder& order);
/// Decodes an order. Throws ErrorKind::internal for text that is not from `encode`.
BootOrder decode(std::string_view text);

// The init's possible answers on its standard output; it gives one, once.
constexpr std::string_view kReady = "ready";      ///< The node serves, and is independent now.
constexpr std::string_view kHeld = "held";        ///< Another process of this node is alive.
constexpr std::string_view kFailed = "failed: ";  ///< Followed by the reason; nothing runs.
/// Followed by the reason; the disk is full.
constexpr std::string_view kNoRoom = "no room: ";

// The paths in a node.
constexpr const char* kSshdConfig = "/etc/fastgpu/sshd_config";
constexpr const char* kSshdPidFile = "/run/sshd.pid";  ///< Written when sshd listens.
constexpr const char* kSshdLog = "/var/log/fastgpu-sshd.log";

// The files in the folder of a world (world.hpp).
constexpr std::string_view kWorldLock = "/lock";
constexpr std::string_view kWorldBroker = "/broker";
constexpr std::string_view kUnmapped = "unmapped";  ///< The first answer: it waits for its ids.

}  // namespace fastgpu::provision::local
