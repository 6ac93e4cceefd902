// This machine's mounts, and those for which a node gets an overlay.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::provision::local {

struct MountEntry {
  std::string point;  ///< The mount point, as this process sees it.
  std::string type;   ///< "ext4", "tmpfs", ...
  bool read_only = false;
};

/// Parses the text of /proc/self/mountinfo, in its order.
std::vector<MountEntry> parse_mountinfo(std::string_view text);

/// Returns the mount of a path without symlinks; `mounts` has one at "/".
const MountEntry& mount_of(const std::vector<MountEntry>& mounts, std::string_view path);

/// Returns true if `path` is `folder` or below it.
bool lies_in(std::string_view path, std::string_view folder);

/// One overlay of a node: its lower directory and its place are the same path.
struct Layer {
  std::string point;
  std::string storage;  ///< The name of the layer's folder among the node's: "root", "%2Fhome".
};

/// Returns "/" first, then every other real file system below it, parents before children. Leaves
/// out the folders that each node has for itself (/proc, /sys, /dev, /run, /tmp) and those in
/// `hidden`.
std::vector<Layer> choose_layers(const std::vector<MountEntry>& mounts,
                                 const std::vector<std::string>& hidden);

/// The layer with `path`, and the rest of it behind the layer's point, without leading '/'.
struct PlaceInLayer {
  const Layer* layer = nullptr;
  std::string rest;
};
PlaceInLayer find_place(const std::vector<Layer>& layers, std::string_view path);

/// Returns the options of mount(2) for an overlay, with special characters in paths escaped.
std::string overlay_options(std::string_view lower, std::string_view upper, std::string_view work);

}  // namespace fastgpu::provision::local
