// The operations that are allowed on gradients while they are encoded for the wire.
#pragma once

#include <cstdint>
#include <string_view>

#include "comm/gradients/settings.hpp"

namespace fastgpu::comm {

enum class CodecKind : std::uint8_t {
  linear,       ///< The sum of encoded numbers is the encoded sum: added wherever they meet.
  gather_only,  ///< Decoded before they are added: every rank's reach the adding rank.
  difference    ///< The change since the last step: between two ranks that both remember it.
};

struct Codec {
  std::string_view name;  ///< The name in FASTGPU_COMM_WIRE.
  CodecKind kind = CodecKind::linear;
};

/// Returns the codec in a job of so many ranks: the one sum of two numbers is rounded once in any
/// case.
Codec codec_of(WireType wire, int ranks) noexcept;

/// The way in which the ranks' gradients become one.
enum class Exchange : std::uint8_t {
  all_reduce,              ///< Added on their way by our schedules, or by MPI.
  nccl,                    ///< Added on their way by NCCL.
  mixed_precision_reduce,  ///< Carried to one rank for each block, decoded and added there.
  neighbours  ///< Each rank combines its own with those of some others, step after step.
};

bool allows(CodecKind kind, Exchange exchange) noexcept;

/// Returns the exchange of gradients that are not on a device; the codec allows it.
Exchange usual_exchange(CodecKind kind) noexcept;

/// Throws ErrorKind::usage, naming both and the allowed pairs, for a pair that is not allowed.
void check_allowed(const Codec& codec, Exchange exchange);

}  // namespace fastgpu::comm
