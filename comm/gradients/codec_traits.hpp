// The operations that are allowed on gradients while they are encoded for the wire.
#pragma once

#include <cstdint>
#include <string_view>

#include "comm/gradients/gradient_settings.hpp"

namespace fastgpu::comm {

enum class CodecKind : std::uint8_t {
  linear,       ///< The sum of encoded numbers is the encoded sum: added wherever they meet.
  factors,      ///< Two thin factors of a matrix are added: the second is made of the first's sum.
  gather_only,  ///< Decoded before they are added: every rank's reach the adding rank.
  difference    ///< The change since the last step: between two ranks that both remember it.
};

/// The way in which the ranks' gradients become one.
enum class Exchange : std::uint8_t {
  all_reduce,              ///< Added on their way by our schedules, or by MPI.
  nccl,                    ///< Added on their way by NCCL.
  mixed_precision_reduce,  ///< Carried to one rank for each block, decoded and added there.
  factors,                 ///< Two thin factors of each matrix, added on their way.
  gather,     ///< Codes carried to every rank, or to one for each part, and added there.
  neighbours  ///< Each rank combines its own with those of some others, step after step.
};

struct WireTraits {
  std::string_view name;  ///< The name in FASTGPU_COMM_WIRE.
  CodecKind kind = CodecKind::linear;
  Exchange exchange = Exchange::all_reduce;  ///< That of gradients which are not on a device.
};

/// Returns the traits in a job of so many ranks. The one sum of two numbers is rounded once in any
/// case, and a rank alone encodes nothing.
WireTraits traits_of(const GradientSettings& settings, int ranks) noexcept;

bool allows(CodecKind kind, Exchange exchange) noexcept;

/// Throws ErrorKind::usage, naming both and what is allowed, for a pair that is not allowed.
void check_allowed(const WireTraits& wire, Exchange exchange);

}  // namespace fastgpu::comm
