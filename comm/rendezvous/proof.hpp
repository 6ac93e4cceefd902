// Proof of knowing a secret without sending it: HMAC-SHA256 over the messages of both sides.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/secret.hpp"

namespace fastgpu::comm {

using Proof = std::array<std::byte, 32>;

/// Returns a proof. `label` keeps one side's proof from serving as the other's. The parts have
/// fixed lengths, so that their concatenation is unambiguous.
Proof prove(const Secret& secret, std::string_view label,
            std::initializer_list<std::span<const std::byte>> parts);

/// Compares in constant time.
bool is_equal(const Proof& a, const Proof& b) noexcept;

}  // namespace fastgpu::comm
