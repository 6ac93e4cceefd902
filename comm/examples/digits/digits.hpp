// The handwritten digits: reading them, and setting some aside for the test.
#pragma once

#include <cstddef>
#include <filesystem>
#include <istream>
#include <string>

#include "dataset.hpp"

namespace digits {

constexpr std::size_t kPixels = 64;

/// Reads lines of 64 numbers from 0 to 16 and a digit, separated by commas. Throws
/// std::runtime_error with `name` and the line's number for any other line, and for an empty file.
training::Dataset read_digits(std::istream& in, const std::string& name);
training::Dataset load_digits(const std::filesystem::path& file);

/// Makes a fifth of each digit, drawn always alike, the test set.
training::Split split(const training::Dataset& digits);

}  // namespace digits
