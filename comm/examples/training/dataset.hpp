// Images and their classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace training {

constexpr std::size_t kClasses = 10;

struct Dataset {
  std::size_t width = 0;                ///< Pixels of one image.
  float brightest = 1;                  ///< The value of a pixel that counts as 1.
  std::vector<std::uint8_t> pixels{};   ///< Image after image.
  std::vector<std::uint8_t> classes{};  ///< The class of each image, below kClasses.

  std::size_t size() const noexcept { return classes.size(); }
  std::span<const std::uint8_t> image(std::size_t index) const {
    return std::span(pixels).subspan(index * width, width);
  }
};

struct Split {
  Dataset training;
  Dataset test;
};

}  // namespace training
