// Writes into the upper directories of a stopped node, as if through its overlays.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "provision/providers/local/mounts.hpp"

namespace fastgpu::provision::local {

/// The overlay that will read the files.
enum class OverlayKind { kernel, fuse };

/// A writer with absolute paths of the node. For a fresh node only: once its programs have run, a
/// link of theirs could lead out of the tree.
class ImageWriter {
 public:
  /// Makes the upper and work directories of all layers below `folder`.
  ImageWriter(std::filesystem::path folder, std::vector<Layer> layers, OverlayKind overlay);

  void put_file(const std::string& path, std::string_view text, mode_t mode);
  /// Puts a file with the owner and the mode that it has on this machine.
  void put_like_ours(const std::string& path, std::string_view text);
  /// Puts an empty folder in place of anything that this machine has there.
  void put_empty_folder(const std::string& path, mode_t mode);
  /// Hides anything that this machine has there.
  void put_nothing(const std::string& path);

 private:
  std::filesystem::path place(const std::string& path);
  void make_folder_like(const std::filesystem::path& upper, const std::filesystem::path& lower);

  std::filesystem::path folder_;
  std::vector<Layer> layers_;
  OverlayKind overlay_;
};

/// Returns the folder for a layer's upper and work directories.
std::filesystem::path layer_storage(const std::filesystem::path& folder, const Layer& layer);

}  // namespace fastgpu::provision::local
