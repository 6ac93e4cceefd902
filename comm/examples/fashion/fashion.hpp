// Fashion-MNIST: 70,000 images of clothes, 28 by 28.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "dataset.hpp"
#include "idx.hpp"

namespace fashion {

constexpr std::size_t kSide = 28;

/// The folder of Debian's package dataset-fashion-mnist.
extern const char* const kDefaultFolder;

/// Joins images and labels. Throws std::runtime_error with `name` if they do not belong together.
training::Dataset dataset_of(const Idx& images, const Idx& labels, const std::string& name);

/// Reads the four files of the set, as they are distributed. Throws std::runtime_error, naming the
/// package if a file is missing.
training::Split load_fashion(const std::filesystem::path& folder);

}  // namespace fashion
