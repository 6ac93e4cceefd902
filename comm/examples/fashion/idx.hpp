// The IDX format of the MNIST family of data sets: a few big-endian numbers, and bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace fashion {

struct Idx {
  std::vector<std::size_t> lengths;      ///< The lengths of the dimensions.
  std::span<const std::uint8_t> values;  ///< Borrowed; their number is the product of the lengths.
};

/// Decodes a file of unsigned bytes with `dimensions` dimensions. Throws std::runtime_error with
/// `name` for anything else, and if there are more or fewer bytes than in its header.
Idx decode_idx(std::span<const std::uint8_t> file, std::size_t dimensions, const std::string& name);

/// Reads a file, compressed by gzip or not. Throws std::runtime_error with its name if it cannot be
/// read, is damaged, or has more than `most` bytes.
std::vector<std::uint8_t> read_gzip(const std::filesystem::path& file, std::size_t most);

}  // namespace fashion
