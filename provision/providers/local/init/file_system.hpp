// The node's own tree: overlays of this machine's disks, and new /proc, /sys, /dev, /run, /tmp.
#pragma once

#include "provision/providers/local/order.hpp"

namespace fastgpu::provision::local {

/// Run in new mount, PID, IPC and network namespaces. Leaves the process with the node's tree as
/// its root and nothing of this machine's mounts in sight. Throws Error; the namespaces are then
/// of no use.
void enter_file_system(const BootOrder& order);

/// Mounts what `try_overlay` needs to find out whether an overlay can be stored in `directory`;
/// throws where it cannot. Run in a mount namespace of its own.
void try_overlay(const std::string& directory);

}  // namespace fastgpu::provision::local
