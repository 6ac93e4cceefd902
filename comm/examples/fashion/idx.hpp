// The IDX format, in which the MNIST family of data sets comes: a few big-endian numbers, and
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace fashion {

struct Idx {
  std::vector<std::size_t> lengths;      ///< Of its dimensions.
  std::span<const std::uint8_t> values;  ///< As many as their product; borrowed.
};

/// Of a file of unsigned bytes with `dimensions` dimensions. Throws std::runtime_error with `name`
/// for anything else, and where there are more bytes or fewer than it says.
Idx decode_idx(std::span<const std::uint8_t> file, std::size_t dimensions, const std::string& name);

/// A file that gzip has compressed, or has not. Throws std::runtime_error with its name where it
/// cannot be read, is damaged, or holds more than `most` bytes.
std::vector<std::uint8_t> read_gzip(const std::filesystem::path& file, std::size_t most);

}  // namespace fashion
