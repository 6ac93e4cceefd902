// Fashion-MNIST: 70,000 images of clothes, 28 by 28.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "dataset.hpp"
#include "idx.hpp"

namespace fashion {

constexpr std::size_t kSide = 28;

/// Where Debian's package dataset-fashion-mnist puts it.
extern const char* const kDefaultFolder;

/// Throws std::runtime_error with `name` where they do not belong together.
training::Dataset dataset_of(const Idx& images, const Idx& labels, const std::string& name);

/// The four files of the set, as they are distributed. Throws std::runtime_error, naming the
/// package where a file is not there.
training::Split load_fashion(const std::filesystem::path& folder);

}  // namespace fashion
