// Images that fastgpu has made of machines: what is written on them, and what has become of them.
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
/// On what a cloud leaves of an image when that is removed: the image's id.
constexpr std::string_view kLeftTag = "fastgpu-left";

struct ImageMarks {
  std::string environment{};  ///< Its name.
  std::string made_of{};      ///< Digest of all that tells whether another image would be the same.
  state::ClusterId cluster{};
  std::string cluster_name{};
  std::string owner{};  ///< As Marks::owner.
};

/// The marks as tags. Values have at most 43 letters, digits and "-_.".
std::vector<std::pair<std::string_view, std::string>> pairs_of(const ImageMarks& marks);

/// The marks among tags, of which `value_of` tells one; empty for one that is not there.
ImageMarks image_marks(const std::function<std::string(std::string_view tag)>& value_of);

enum class ImageState : std::uint8_t { pending, available, failed };
std::string_view to_string(ImageState state) noexcept;  ///< "pending", ...

struct OwnImage {
  Image image{};
  ImageState state = ImageState::pending;
  std::string failure{};  ///< Of a failed one: the cloud's words.
  ImageMarks marks{};
  std::vector<std::string> snapshots{};  ///< That have to be removed one by one.
};

/// What is asked for with an image.
struct ImageWish {
  std::string region{};
  std::string machine{};  ///< Its id. It goes on running.
  std::string name{};     ///< 3 to 60 letters, digits and "-_.", beginning with a letter.
  ImageMarks marks{};
  std::string token{};  ///< As Launch::token.
};

/// A name for such an image that all clouds take: "fastgpu-train-0123456789ab".
std::string image_name(const ImageMarks& marks);

/// The one among `images` that is worth most to somebody who wants what `made_of` says: an
/// available one before a pending one before a failed one. Null: there is none.
const OwnImage* image_made_of(std::span<const OwnImage> images, std::string_view made_of);

}  // namespace fastgpu::provision::cloud
