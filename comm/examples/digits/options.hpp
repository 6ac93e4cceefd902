// The command line of fastgpu-digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

namespace digits {

struct Options {
  std::size_t global_batch = 64;  ///< Samples of one step, over all ranks together.
  std::size_t epochs = 30;
  std::uint64_t seed = 1;
  std::filesystem::path data{};                   ///< Empty: found beside the executable.
  std::optional<std::filesystem::path> report{};  ///< Written by rank 0.
  bool wants_help = false;
};

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

extern const char* const kHelp;

/// Throws UsageError, naming the argument.
Options parse_options(std::span<const char* const> arguments);

/// The data that came with this program, whether built or installed.
std::filesystem::path default_data();

}  // namespace digits
