#include "comm/kernels/copy.hpp"

#include <cassert>
#include <cstring>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace fastgpu::comm {
namespace {

/// The length in bytes from which copies are faster past the caches: see comm/bench/kernels.cpp.
constexpr std::size_t kStreamFrom = 8 << 20;

/// The length from which the CPU's own copy is worth its start.
constexpr std::size_t kOwnCopyFrom = 16 << 10;

#ifdef __x86_64__

/// Returns whether the CPU copies strings with its widest accesses ("enhanced rep movsb").
bool copies_strings() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kEnhanced = 1U << 9U;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kEnhanced) != 0;
}

/// Copies by the CPU's own instruction. The loops of memcpy take twice as long in the caches if
/// both places are as far from the beginning of their pages, as those of large arrays are.
bool copy_as_string(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  static const bool is_fast = copies_strings();
  if (!is_fast) return false;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  return true;
}

#else

bool copy_as_string(std::byte*, const std::byte*, std::size_t) noexcept {
  return false;
}

#endif

}  // namespace

void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from, std::size_t whole,
                const Kernels& with) {
  assert(to.size() == from.size());
  if (from.empty() || to.data() == from.data()) return;
  if (from.size() >= kOwnCopyFrom) {
    if (whole >= kStreamFrom) return with.stream(to.data(), from.data(), from.size());
    if (copy_as_string(to.data(), from.data(), from.size())) return;
  }
  std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace fastgpu::comm
