// An overlay that a process serves through FUSE, if the kernel's own must not be mounted over "/":
// in a user namespace, whose maker is not root.
#pragma once

#include <string>

#include "base/unique_fd.hpp"
#include "provision/providers/local/order.hpp"

namespace fastgpu::provision::local {

/// Starts fuse-overlayfs and returns its file system, not mounted yet. The process sees this
/// machine's mounts and none of the node's, and ends by itself once its file system is mounted
/// nowhere any more.
UniqueFd serve_overlay(const std::string& fuse_overlayfs, const OverlayOrder& overlay);

/// Mounts the result of `serve_overlay`, in this mount namespace or a later one.
void attach(const UniqueFd& tree, const std::string& target);

}  // namespace fastgpu::provision::local
