#include "comm/kernels/convert.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "comm/kernels/copy.hpp"

namespace fastgpu::comm {
namespace {

/// The length below which streaming gains nothing.
constexpr std::size_t kWorthStreaming = 16 << 10;

/// The bytes that are converted before they are streamed: half of a core's first cache.
constexpr std::size_t kBlock = 16 << 10;

const Kernels::Conversions& entry_of(const Conversion& conversion, const Kernels& with) noexcept {
  return with.conversions[static_cast<std::size_t>(conversion.to)]
                         [static_cast<std::size_t>(conversion.from)];
}

bool is_copy(const Conversion& conversion) noexcept {
  return conversion.from == conversion.to && conversion.scale == 1;
}

/// Returns the entry, for more than a copy. Throws ErrorKind::usage if it has no conversion.
const Kernels::Conversions& needed_entry(const Conversion& conversion, const Kernels& with) {
  const Kernels::Conversions& entry = entry_of(conversion, with);
  if (entry.convert == nullptr)
    throw Error(ErrorKind::usage, std::string(name_of(conversion.from)) + " times " +
                                      std::to_string(conversion.scale) +
                                      " cannot be converted to " +
                                      std::string(name_of(conversion.to)));
  return entry;
}

std::size_t elements([[maybe_unused]] std::span<std::byte> to, std::span<const std::byte> from,
                     const Conversion& conversion) noexcept {
  const std::size_t count = from.size() / size_of(conversion.from);
  assert(to.size() == count * size_of(conversion.to));
  return count;
}

/// Returns true if the result is written past the caches. Types of different size gain nothing by
/// it.
bool is_streamed(std::span<std::byte> to, std::span<const std::byte> from,
                 const Conversion& conversion) noexcept {
  return conversion.past_caches && conversion.from == conversion.to &&
         to.size() >= kWorthStreaming && to.data() != from.data();
}

/// Calls body(block, its source, index of its first element, elements) for one part of `to` after
/// the other, and streams the block there.
template <class Body>
void stream_blocks(std::span<std::byte> to, std::span<const std::byte> from,
                   const Conversion& conversion, const Kernels& with, Body body) {
  alignas(64) std::byte block[kBlock];
  const std::size_t most = kBlock / size_of(conversion.to);
  const std::size_t count = to.size() / size_of(conversion.to);
  for (std::size_t at = 0; at < count; at += most) {
    const std::size_t length = std::min(most, count - at);
    const std::size_t bytes = length * size_of(conversion.to);
    body(block, from.data() + at * size_of(conversion.from), at, length);
    with.stream(to.data() + at * size_of(conversion.to), block, bytes);
  }
}

/// Returns the index that a kernel has found; absent if it is `count`.
std::optional<std::size_t> found(std::size_t index, std::size_t count) noexcept {
  return index < count ? std::optional(index) : std::nullopt;
}

}  // namespace

bool is_possible(const Conversion& conversion) noexcept {
  return is_copy(conversion) ||
         entry_of(conversion, kernels_of(SimdLevel::portable)).convert != nullptr;
}

void convert(std::span<std::byte> to, std::span<const std::byte> from, const Conversion& conversion,
             const Kernels& with) {
  const std::size_t count = elements(to, from, conversion);
  const bool streams = is_streamed(to, from, conversion);
  if (is_copy(conversion) && streams) return with.stream(to.data(), from.data(), from.size());
  if (is_copy(conversion)) return copy_bytes(to, from, to.size(), with);
  const auto convert_all = needed_entry(conversion, with).convert;
  if (!streams) return convert_all(to.data(), from.data(), count, conversion.scale);
  stream_blocks(to, from, conversion, with,
                [&](void* block, const void* source, std::size_t, std::size_t length) {
                  convert_all(block, source, length, conversion.scale);
                });
}

std::optional<std::size_t> convert_checked(std::span<std::byte> to, std::span<const std::byte> from,
                                           const Conversion& conversion, const Kernels& with) {
  const std::size_t count = elements(to, from, conversion);
  if (is_copy(conversion) && entry_of(conversion, with).convert == nullptr) {
    convert(to, from, conversion, with);
    return std::nullopt;
  }
  const auto convert_and_check = needed_entry(conversion, with).convert_checked;
  if (!is_streamed(to, from, conversion))
    return found(convert_and_check(to.data(), from.data(), count, conversion.scale), count);
  std::size_t first = count;
  stream_blocks(to, from, conversion, with,
                [&](void* block, const void* source, std::size_t at, std::size_t length) {
                  const std::size_t index =
                      convert_and_check(block, source, length, conversion.scale);
                  if (index < length && first == count) first = at + index;
                });
  return found(first, count);
}

void convert_and_add(std::span<std::byte> to, std::span<const std::byte> from,
                     const Conversion& conversion, const Kernels& with) {
  const std::size_t count = elements(to, from, conversion);
  needed_entry(conversion, with).add(to.data(), from.data(), count, conversion.scale);
}

std::optional<std::size_t> first_non_finite(std::span<const std::byte> data, ElementType type,
                                            const Kernels& with) {
  const Kernels::Find find = with.first_non_finite[static_cast<std::size_t>(type)];
  const std::size_t count = data.size() / size_of(type);
  return find == nullptr ? std::nullopt : found(find(data.data(), count), count);
}

}  // namespace fastgpu::comm
