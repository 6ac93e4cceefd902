// The description of a rank's endpoint, which the other ranks get before any message goes by the
// fabric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/fabric/fabric_settings.hpp"

namespace fastgpu::comm::fabric {

struct Card {
  std::string provider{};
  std::uint32_t protocol = 0;
  Put put = Put::none;
  bool is_hardware = false;
  std::uint64_t token = 0;  ///< Every frame to this endpoint carries it.
  std::uint64_t scope = 0;  ///< Traits::scope.
  std::vector<std::byte> address{};
};

/// The most bytes of an encoded card.
constexpr std::size_t kMaxCard = 255;

std::vector<std::byte> encode(const Card& card);

/// Throws ErrorKind::remote for anything that `encode` cannot have written.
Card decode_card(std::span<const std::byte> bytes);

}  // namespace fastgpu::comm::fabric
