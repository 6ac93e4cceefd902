// The differences of a new node's file system from this machine's: files that it adds, and files
// that it hides.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "provision/provider.hpp"
#include "provision/providers/local/image_writer.hpp"
#include "provision/providers/local/mounts.hpp"

namespace fastgpu::provision::local {

struct ImagePlan {
  std::filesystem::path folder;  ///< The node's folder.
  std::vector<Layer> layers;
  OverlayKind overlay = OverlayKind::kernel;
  std::string hosts;                       ///< The complete /etc/hosts.
  std::vector<std::string> open_accounts;  ///< Users that may log in by key.
  std::vector<std::filesystem::path> private_homes;
};

/// Fills the upper directories of a node that has none. Throws if the disk is full.
void fill_image(const ImagePlan& plan, const NodeRequest& request);

/// Returns the homes of root and of the calling user, from the system's user table.
std::vector<std::filesystem::path> own_homes();

}  // namespace fastgpu::provision::local
