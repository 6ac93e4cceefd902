// Images that fastgpu has made of machines: their marks and their state.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "provision/cloud/model.hpp"

namespace fastgpu::provision::cloud {

/// Tags on images, beside kNameTag and kOwnerTag.
constexpr std::string_view kImageTag = "fastgpu-image";  ///< ImageMarks::environment
constexpr std::string_view kMadeOfTag = "fastgpu-made-of";
constexpr std::string_view kFromTag = "fastgpu-from";  ///< ImageMarks::cluster
/// The tag on what remains in a cloud after the removal of an image; its value is the image's id.
constexpr std::string_view kLeftTag = "fastgpu-left";

struct ImageMarks {
  std::string environment{};  ///< The environment's name.
  /// Digest of all parts that decide whether another image would be the same.
  std::string made_of{};
  state::ClusterId cluster{};
  std::string cluster_name{};
  std::string owner{};  ///< Equal to OwnerTags::owner.
};

/// Returns the marks as tags. Values have at most 43 letters, digits and "-_.".
std::vector<std::pair<std::string_view, std::string>> pairs_of(const ImageMarks& marks);

/// Returns the marks among tags, of which `value_of` returns one; empty for a missing one.
ImageMarks image_marks(const std::function<std::string(std::string_view tag)>& value_of);

enum class ImageState : std::uint8_t { pending, available, failed };
std::string_view to_string(ImageState state) noexcept;  ///< Returns "pending", ...

struct OwnImage {
  Image image{};
  ImageState state = ImageState::pending;
  std::string failure{};  ///< The cloud's message about a failed image.
  ImageMarks marks{};
  std::vector<std::string> snapshots{};  ///< Snapshots that must be removed one by one.
};

/// The request for an image.
struct ImageRequest {
  std::string region{};
  std::string machine{};  ///< The machine's id. It goes on running.
  std::string name{};     ///< 3 to 60 letters, digits and "-_.", beginning with a letter.
  ImageMarks marks{};
  std::string token{};  ///< Equal to Launch::token.
};

/// Returns a name for such an image that all clouds accept: "fastgpu-train-0123456789ab".
std::string image_name(const ImageMarks& marks);

/// Returns the best one among `images` that is made of `made_of`: an available one before a pending
/// one before a failed one. Null without one.
const OwnImage* image_made_of(std::span<const OwnImage> images, std::string_view made_of);

}  // namespace fastgpu::provision::cloud
