#include "comm/codecs/top_k.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kStretch = std::size_t{1} << 16;  ///< The numbers that 16 bits can count.
constexpr std::size_t kSample = 4096;

std::int32_t magnitude(float value) noexcept {
  return std::bit_cast<std::int32_t>(value) & 0x7fffffff;
}

/// Returns a limit that probably a few more than `wanted` magnitudes reach.
std::int32_t sampled_limit(std::span<const float> values, std::size_t wanted) {
  const std::size_t stride = values.size() / kSample;
  std::vector<std::int32_t> sample(kSample);
  for (std::size_t i = 0; i < kSample; ++i)  // Moved within its stride: rows have like columns.
    sample[i] = magnitude(values[i * stride + (i * 7919) % stride]);
  const double expected =
      static_cast<double>(wanted) * kSample / static_cast<double>(values.size());
  const auto place = static_cast<std::size_t>(expected + 3 * std::sqrt(expected) + 4);
  if (place >= kSample) return 0;
  std::ranges::nth_element(sample, sample.begin() + static_cast<std::ptrdiff_t>(place),
                           std::greater());
  return sample[place];
}

/// Returns the highest limit of 15 bits that `wanted` magnitudes reach.
std::int32_t counted_limit(std::span<const float> values, std::size_t wanted) {
  constexpr unsigned kShift = 16;
  std::vector<std::size_t> numbers(std::size_t{1} << 15U);
  for (const float value : values)
    ++numbers[static_cast<std::size_t>(magnitude(value) >> kShift)];
  std::size_t at = numbers.size();
  for (std::size_t reached = 0; at > 0 && reached < wanted;)
    reached += numbers[--at];
  return static_cast<std::int32_t>(at << kShift);
}

/// Returns the indices that reach `limit`; empty if they are more than `room`.
std::vector<std::uint32_t> reaching(std::span<const float> values, std::int32_t limit,
                                    std::size_t room) {
  std::vector<std::uint32_t> found(room);
  const std::size_t number =
      kernels().select(found.data(), room, values.data(), values.size(), limit);
  found.resize(number > room ? 0 : number);
  return found;
}

std::vector<std::uint32_t> candidates(std::span<const float> values, std::size_t wanted) {
  constexpr std::size_t kWorthSampling = 4 * kSample;
  if (values.size() >= kWorthSampling && wanted <= values.size() / 8) {
    auto found = reaching(values, sampled_limit(values, wanted), 4 * wanted + kSample);
    if (found.size() >= wanted) return found;
  }
  return reaching(values, counted_limit(values, wanted), values.size());
}

[[noreturn]] void refuse_code(const std::string& what) {
  throw Error(ErrorKind::remote, "an invalid code of the largest numbers: " + what);
}

template <class T>
T number_at(std::span<const std::byte> from, std::size_t index) noexcept {
  T number;
  std::memcpy(&number, from.data() + index * sizeof(T), sizeof(T));
  return number;
}

template <class T>
void put_number(std::span<std::byte> to, std::size_t index, T number) noexcept {
  std::memcpy(to.data() + index * sizeof(T), &number, sizeof(T));
}

/// The three parts of a code.
template <class Byte>
struct Parts {
  std::span<Byte> numbers;
  std::span<Byte> places;
  std::span<Byte> values;

  Parts(std::span<Byte> code, std::size_t stretches, std::size_t entries)
      : numbers(code.first(stretches * sizeof(std::uint32_t))),
        places(code.subspan(numbers.size(), entries * sizeof(std::uint16_t))),
        values(code.subspan(numbers.size() + places.size(), entries * sizeof(float))) {}
};

}  // namespace

std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t wanted) {
  std::vector<std::uint32_t> found = candidates(values, wanted);
  if (found.size() == wanted) return found;
  std::vector<std::int32_t> magnitudes(found.size());
  std::ranges::transform(found, magnitudes.begin(),
                         [&](std::uint32_t index) { return magnitude(values[index]); });
  std::ranges::nth_element(magnitudes, magnitudes.begin() + static_cast<std::ptrdiff_t>(wanted - 1),
                           std::greater());
  const std::int32_t least = magnitudes[wanted - 1];
  const auto above = std::ranges::count_if(
      found, [&](std::uint32_t index) { return magnitude(values[index]) > least; });
  std::size_t equal = wanted - static_cast<std::size_t>(above);
  std::erase_if(found, [&](std::uint32_t index) {
    const std::int32_t each = magnitude(values[index]);
    const bool is_among_first = each == least && equal > 0;
    if (is_among_first) --equal;
    return each <= least && !is_among_first;
  });
  return found;
}

std::size_t TopK::entries(std::size_t count) const noexcept {
  if (count == 0) return 0;
  const auto entries = static_cast<std::size_t>(std::ceil(part_ * static_cast<double>(count)));
  return std::clamp<std::size_t>(entries, 1, count);
}

std::size_t TopK::encoded_bytes(std::size_t count) const noexcept {
  return blocks_of(count, kStretch) * sizeof(std::uint32_t) +
         entries(count) * (sizeof(std::uint16_t) + sizeof(float));
}

void TopK::encode(std::span<std::byte> code, std::span<const float> values, std::uint64_t) const {
  assert(code.size() == encoded_bytes(values.size()));
  if (values.empty()) return;
  const std::vector<std::uint32_t> chosen = largest(values, entries(values.size()));
  const std::size_t stretches = blocks_of(values.size(), kStretch);
  const Parts<std::byte> parts(code, stretches, chosen.size());
  std::size_t at = 0;
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const std::size_t before = at;
    for (; at < chosen.size() && chosen[at] / kStretch == stretch; ++at) {
      put_number(parts.places, at, static_cast<std::uint16_t>(chosen[at] % kStretch));
      put_number(parts.values, at, values[chosen[at]]);
    }
    put_number(parts.numbers, stretch, static_cast<std::uint32_t>(at - before));
  }
}

void TopK::add(std::span<float> sum, std::span<const std::byte> code, float factor) const {
  assert(code.size() == encoded_bytes(sum.size()));
  const std::size_t all = entries(sum.size());
  const std::size_t stretches = blocks_of(sum.size(), kStretch);
  const Parts<const std::byte> parts(code, stretches, all);
  std::size_t at = 0;
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const auto numbers = number_at<std::uint32_t>(parts.numbers, stretch);
    if (numbers > all - at) refuse_code("more than " + std::to_string(all) + " entries");
    const std::span<float> to =
        sum.subspan(stretch * kStretch, std::min(kStretch, sum.size() - stretch * kStretch));
    std::size_t next = 0;  // The first place that is allowed.
    for (const std::size_t end = at + numbers; at < end; ++at) {
      const std::size_t place = number_at<std::uint16_t>(parts.places, at);
      if (place < next || place >= to.size())
        refuse_code("place " + std::to_string(place) + ", where " + std::to_string(next) + " to " +
                    std::to_string(to.size() - 1) + " are possible");
      next = place + 1;
      const float added = to[place] + factor * number_at<float>(parts.values, at);
      to[place] = added == added ? added : std::bit_cast<float>(0x7fc00000U);
    }
  }
  if (at != all) refuse_code(std::to_string(at) + " entries instead of " + std::to_string(all));
}

}  // namespace fastgpu::comm
