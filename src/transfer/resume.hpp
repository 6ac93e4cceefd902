// Copies that were cut off and go on later: what names one, and how far it is.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::transfer {

/// How far a stream of files is.
struct Position {
  std::uint64_t files = 0;  ///< Whole ones.
  std::uint64_t bytes = 0;  ///< Of the next one.

  auto operator<=>(const Position&) const = default;
};

/// A copy that is kept where it is cut off, and where it goes on.
struct Resumption {
  std::string key;  ///< See key_of.
  Position from{};
};

/// How many of a key's digits tell where the copy goes: the others tell what it is.
inline constexpr std::size_t kPlaceDigits = 12;
inline constexpr std::size_t kKeyDigits = 32;

/// 32 hexadecimal digits that name the copy of these sources, as they are now, to `destination`:
/// made of that, and of their paths, kinds, sizes, modes and times. Empty where they cannot be
/// looked at.
std::string key_of(const std::vector<std::filesystem::path>& sources,
                   const std::string& destination);

/// "FILES:BYTES", and back; throws ErrorKind::remote.
std::string to_text(const Position& position);
Position parse_position(std::string_view text);

/// "KEY:FILES:BYTES", and back; throws ErrorKind::remote.
std::string to_text(const Resumption& resumption);
Resumption parse_resumption(std::string_view text);

}  // namespace fastgpu::transfer
