// The node's own tree: overlays of this machine's disks, and new /proc, /sys, /dev, /run, /tmp.
#pragma once

#include "base/unique_fd.hpp"
#include "provision/providers/local/order.hpp"

namespace fastgpu::provision::local {

/// Enters the node's tree. Run in new mount, PID, IPC and network namespaces. `tree` is the root's
/// file system if it is one of `serve_overlay`, and empty otherwise. Leaves the process with the
/// node's tree as its root and without this machine's mounts in sight. Throws Error; the namespaces
/// are then of no use.
void enter_file_system(const BootOrder& order, UniqueFd tree);

/// Mounts the overlay at "merged" beside its storage, and throws if it cannot be written. Run in a
/// mount namespace of its own; `tree` as for `enter_file_system`.
void try_overlay(const OverlayOrder& overlay, UniqueFd tree);

}  // namespace fastgpu::provision::local
