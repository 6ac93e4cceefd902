#include "provision/cloud/own_image.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "provision/cloud/tags.hpp"

namespace fastgpu::provision::cloud {
namespace {

bool is_plain(char c) {
  return is_ascii_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
}

std::string plain(std::string text, std::size_t most) {
  std::ranges::replace_if(
      text, [](char c) { return !is_plain(c); }, '-');
  text.resize(std::min(text.size(), most));
  return text;
}

}  // namespace

std::vector<std::pair<std::string_view, std::string>> pairs_of(const ImageMarks& marks) {
  constexpr std::size_t kMost = 43;
  return {{kImageTag, plain(marks.environment, kMost)},
          {kMadeOfTag, marks.made_of},
          {kFromTag, marks.cluster.value},
          {kNameTag, marks.cluster_name},
          {kOwnerTag, marks.owner}};
}

ImageMarks image_marks(const std::function<std::string(std::string_view tag)>& value_of) {
  return {.environment = value_of(kImageTag),
          .made_of = value_of(kMadeOfTag),
          .cluster = {value_of(kFromTag)},
          .cluster_name = value_of(kNameTag),
          .owner = value_of(kOwnerTag)};
}

std::string_view to_string(ImageState state) noexcept {
  switch (state) {
    case ImageState::pending:
      return "pending";
    case ImageState::available:
      return "available";
    case ImageState::failed:
      return "failed";
  }
  return "";
}

std::string image_name(const ImageMarks& marks) {
  constexpr std::size_t kDigits = 12;
  constexpr std::size_t kMostOfName = 39;  // 60 together with the rest.
  return "fastgpu-" + plain(marks.environment, kMostOfName) + "-" +
         marks.made_of.substr(0, kDigits);
}

const OwnImage* image_made_of(std::span<const OwnImage> images, std::string_view made_of) {
  constexpr std::array kWorth = {ImageState::failed, ImageState::pending, ImageState::available};
  const auto worth = [&](const OwnImage& image) {
    return std::ranges::find(kWorth, image.state) - kWorth.begin();
  };
  const OwnImage* best = nullptr;
  for (const OwnImage& image : images)
    if (image.marks.made_of == made_of && (best == nullptr || worth(image) > worth(*best)))
      best = &image;
  return best;
}

}  // namespace fastgpu::provision::cloud
