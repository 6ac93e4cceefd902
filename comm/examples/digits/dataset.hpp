// The handwritten digits: reading them, and putting some aside for the test.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <istream>
#include <string>
#include <vector>

namespace digits {

constexpr std::size_t kPixels = 64;
constexpr std::size_t kClasses = 10;

struct Sample {
  std::array<float, kPixels> pixels{};  ///< 0 to 1.
  std::size_t digit = 0;
};

using Samples = std::vector<Sample>;

/// Lines of 64 numbers from 0 to 16 and a digit, separated by commas. Throws std::runtime_error
/// with `name` and the line's number where one is something else, or where there is none.
Samples read_samples(std::istream& in, const std::string& name);
Samples load_samples(const std::filesystem::path& file);

struct Split {
  Samples training;
  Samples test;
};

/// A fifth of each digit, drawn always alike, becomes the test set.
Split split(const Samples& samples);

}  // namespace digits
