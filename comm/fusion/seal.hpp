// The last bytes of a saved state, by which damage of a file is noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fastgpu::comm {

constexpr std::size_t kSealBytes = sizeof(std::uint64_t);

/// Writes the seal of a state into its last kSealBytes. There are at least so many.
void seal(std::span<std::byte> state);

/// Returns the bytes before the seal; none if there are too few.
std::span<const std::byte> without_seal(std::span<const std::byte> state) noexcept;

/// Returns true if the state ends with the seal of the bytes before. It notices accidents, not an
/// adversary.
bool has_seal(std::span<const std::byte> state) noexcept;

}  // namespace fastgpu::comm
