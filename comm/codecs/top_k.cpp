#include "comm/codecs/top_k.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kStretch = std::size_t{1} << 16;  ///< The numbers that 16 bits can count.

/// The numbers that are searched at a time: those found are still in a cache when they are taken.
/// The kernel reads as many ahead.
constexpr std::size_t kTogether = 8192;
constexpr std::size_t kWorthSampling = 16384;

/// The numbers of a sample: one of 256, if that is enough to tell.
std::size_t sample_of(std::size_t count) noexcept {
  return std::clamp<std::size_t>(count / 256, 1024, 16384);
}

std::int32_t magnitude(float value) noexcept {
  return std::bit_cast<std::int32_t>(value) & 0x7fffffff;
}

/// A limit that exactly the wanted numbers reach, but for the last of those that are equal to it.
struct ExactLimit {
  std::int32_t least = 0;  ///< The smallest magnitude that is taken.
  std::size_t equal = 0;   ///< How many of this magnitude are taken.
};

/// Steps of equal length, few enough to be counted in a small cache.
struct Steps {
  static constexpr unsigned kBits = 12;

  std::int32_t least = 0;
  unsigned shift = 0;

  std::size_t of(float number) const noexcept {
    return static_cast<std::size_t>(magnitude(number) - least) >> shift;
  }
};

/// Returns steps from the smallest to the largest magnitude.
Steps steps_over(std::span<const float> numbers) noexcept {
  std::int32_t least = magnitude(numbers.front());
  std::int32_t most = least;
  for (const float number : numbers) {
    least = std::min(least, magnitude(number));
    most = std::max(most, magnitude(number));
  }
  const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint32_t>(most - least)));
  return {least, bits > Steps::kBits ? bits - Steps::kBits : 0};
}

std::vector<std::uint32_t> counts_of(const Steps steps, std::span<const float> numbers) {
  std::vector<std::uint32_t> counts(std::size_t{1} << Steps::kBits);
  for (const float number : numbers)
    ++counts[steps.of(number)];
  return counts;
}

/// Counts numbers step by step, then those of the decisive step in shorter ones, until all of that
/// have one magnitude. There are at least `wanted`.
ExactLimit exact_limit(std::span<const float> numbers, std::size_t wanted) {
  std::vector<float> left;
  for (;;) {
    const Steps steps = steps_over(numbers);
    const std::vector<std::uint32_t> counts = counts_of(steps, numbers);
    std::size_t at = counts.size() - 1;
    for (; counts[at] < wanted; --at)
      wanted -= counts[at];
    if (steps.shift == 0) return {steps.least + static_cast<std::int32_t>(at), wanted};
    std::vector<float> decisive;
    decisive.reserve(counts[at]);
    for (const float number : numbers)
      if (steps.of(number) == at) decisive.push_back(number);
    left = std::move(decisive);
    numbers = left;
  }
}

/// Returns a limit that probably a few more than `wanted` magnitudes reach.
std::int32_t sampled_limit(std::span<const float> values, std::size_t wanted) {
  std::vector<float> sample(sample_of(values.size()));
  const std::size_t stride = values.size() / sample.size();
  for (std::size_t i = 0; i < sample.size(); ++i)  // Moved in its stride: rows have like columns.
    sample[i] = values[i * stride + (i * 7919) % stride];
  const double expected = static_cast<double>(wanted) * static_cast<double>(sample.size()) /
                          static_cast<double>(values.size());
  const auto place = static_cast<std::size_t>(expected + 3 * std::sqrt(expected) + 4);
  return place < sample.size() ? exact_limit(sample, place + 1).least : 0;
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

/// Returns a number, and leaves its rest in its place where that may be written.
float taken(const float& number) noexcept {
  return number;
}
float taken(float& number) noexcept {
  return std::exchange(number, rest_of(number));
}

/// Writes numbers to where they were taken. Their places are far from each other in memory.
void put_back(std::span<const float>, const PlacedNumbers&) {}
void put_back(std::span<float> values, const PlacedNumbers& found) {
  constexpr std::size_t kAhead = 32;
  const std::span<const std::uint32_t> places = found.places();
  const std::size_t together = places.size() - std::min(places.size(), kAhead);
  for (std::size_t i = 0; i < together; ++i) {
    __builtin_prefetch(&values[places[i + kAhead]], 1);
    values[places[i]] = found.numbers()[i];
  }
  for (std::size_t i = together; i < places.size(); ++i)
    values[places[i]] = found.numbers()[i];
}

/// Takes the numbers that reach `limit`; none if they are more than `room`.
template <class Number>
PlacedNumbers reaching(std::span<Number> values, std::int32_t limit, std::size_t room) {
  PlacedNumbers found(room);
  for (std::size_t first = 0; first < values.size(); first += kTogether) {
    const auto block = values.subspan(first, std::min(kTogether, values.size() - first));
    const std::size_t before = found.size();
    const std::size_t more =
        kernels().select(found.all_places() + before, room - before, block.data(), block.size(),
                         static_cast<std::uint32_t>(first), limit);
    if (more > room - before) {
      put_back(values, found);
      found.resize(0);
      return found;
    }
    found.resize(before + more);
    for (std::size_t i = before; i < found.size(); ++i)
      found.all_numbers()[i] = taken(values[found.places()[i]]);
  }
  return found;
}

template <class Number>
PlacedNumbers candidates(std::span<Number> values, std::size_t wanted) {
  if (values.size() < kWorthSampling) return reaching(values, 0, values.size());
  if (wanted <= values.size() / 8) {
    const std::size_t spare = 16 * (values.size() / sample_of(values.size()));
    auto found = reaching(values, sampled_limit(values, wanted), 4 * wanted + spare);
    if (found.size() >= wanted) return found;
    put_back(values, found);
  }
  return reaching(values, counted_limit(values, wanted), values.size());
}

/// Takes the `wanted` numbers of the largest magnitudes, as largest() finds them.
template <class Number>
PlacedNumbers take(std::span<Number> values, std::size_t wanted) {
  PlacedNumbers chosen = candidates(values, wanted);
  std::uint32_t* const places = chosen.all_places();
  float* const numbers = chosen.all_numbers();
  ExactLimit limit = exact_limit(chosen.numbers(), wanted);
  PlacedNumbers others(chosen.size() - wanted + 1);
  std::size_t at = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::int32_t each = magnitude(numbers[i]);
    bool counts = each > limit.least;  // No branch: most of them count, but not all.
    if (each == limit.least && limit.equal > 0) {
      --limit.equal;
      counts = true;
    }
    others.all_places()[i - at] = places[i];
    others.all_numbers()[i - at] = numbers[i];
    places[at] = places[i];
    numbers[at] = numbers[i];
    at += counts ? 1 : 0;
  }
  others.resize(chosen.size() - wanted);
  chosen.resize(wanted);
  put_back(values, others);
  return chosen;
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
        values(code.subspan(numbers.size() + places.size(), entries * sizeof(BFloat16))) {}
};

/// Writes 16 bits for each number. A few numbers at a time, in memory that nothing else can be, so
/// that the compiler makes vectors of them.
template <class Number, class HalfOf>
void put_halves(std::span<std::byte> to, std::span<const Number> from, HalfOf half_of) {
  constexpr std::size_t kFew = 256;
  std::uint16_t halves[kFew];
  for (std::size_t first = 0; first < from.size(); first += kFew) {
    const std::span<const Number> few = from.subspan(first, std::min(kFew, from.size() - first));
    for (std::size_t i = 0; i < few.size(); ++i)
      halves[i] = half_of(few[i]);
    std::memcpy(to.data() + first * sizeof(halves[0]), halves, few.size() * sizeof(halves[0]));
  }
}

void write_code(std::span<std::byte> code, std::size_t count, const PlacedNumbers& chosen) {
  const std::size_t stretches = blocks_of(count, kStretch);
  const std::span<const std::uint32_t> places = chosen.places();
  const Parts<std::byte> parts(code, stretches, places.size());
  auto begin = places.begin();
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const auto end = std::lower_bound(begin, places.end(), (stretch + 1) * kStretch);
    put_number(parts.numbers, stretch, static_cast<std::uint32_t>(end - begin));
    begin = end;
  }
  put_halves(parts.places, places,
             [](std::uint32_t place) { return static_cast<std::uint16_t>(place % kStretch); });
  put_halves(parts.values, chosen.numbers(), [](float number) { return carried_of(number).bits; });
}

}  // namespace

PlacedNumbers largest(std::span<const float> values, std::size_t wanted) {
  return take(values, wanted);
}

PlacedNumbers take_largest(std::span<float> values, std::size_t wanted) {
  return take(values, wanted);
}

std::size_t TopK::entries(std::size_t count) const noexcept {
  if (count == 0) return 0;
  const auto entries = static_cast<std::size_t>(std::ceil(part_ * static_cast<double>(count)));
  return std::clamp<std::size_t>(entries, 1, count);
}

std::size_t TopK::encoded_bytes(std::size_t count) const noexcept {
  return blocks_of(count, kStretch) * sizeof(std::uint32_t) +
         entries(count) * (sizeof(std::uint16_t) + sizeof(BFloat16));
}

void TopK::encode(std::span<std::byte> code, std::span<const float> values, std::uint64_t) const {
  assert(code.size() == encoded_bytes(values.size()));
  if (values.empty()) return;
  write_code(code, values.size(), largest(values, entries(values.size())));
}

void TopK::encode_with_feedback(std::span<std::byte> code, std::span<float> values,
                                std::uint64_t) const {
  assert(code.size() == encoded_bytes(values.size()));
  if (values.empty()) return;
  const PlacedNumbers chosen = take_largest(values, entries(values.size()));
  write_code(code, values.size(), chosen);
  // Numbers that are not finite are the largest: others are left only if all places went to them.
  const auto is_finite = [](float number) { return std::isfinite(number); };
  if (std::ranges::none_of(chosen.numbers(), is_finite))
    kernels().drop_non_finite(values.data(), values.size());
}

/// Calls visit(index, number) for each entry of a code. Throws ErrorKind::remote once it meets what
/// no encoder writes.
template <class Visit>
void TopK::for_each_entry(std::span<const std::byte> code, std::size_t count, Visit visit) const {
  assert(code.size() == encoded_bytes(count));
  const std::size_t all = entries(count);
  const std::size_t stretches = blocks_of(count, kStretch);
  const Parts<const std::byte> parts(code, stretches, all);
  std::size_t at = 0;
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const auto numbers = number_at<std::uint32_t>(parts.numbers, stretch);
    if (numbers > all - at) refuse_code("more than " + std::to_string(all) + " entries");
    const std::size_t first = stretch * kStretch;
    const std::size_t length = std::min(kStretch, count - first);
    std::size_t next = 0;  // The first place that is allowed.
    for (const std::size_t end = at + numbers; at < end; ++at) {
      const std::size_t place = number_at<std::uint16_t>(parts.places, at);
      if (place < next || place >= length)
        refuse_code("place " + std::to_string(place) + ", where " + std::to_string(next) + " to " +
                    std::to_string(length - 1) + " are possible");
      next = place + 1;
      visit(first + place, to_float(number_at<BFloat16>(parts.values, at)));
    }
  }
  if (at != all) refuse_code(std::to_string(at) + " entries instead of " + std::to_string(all));
}

void TopK::check(std::span<const std::byte> code, std::size_t count) const {
  for_each_entry(code, count, [](std::size_t, float) {});
}

void TopK::add(std::span<float> sum, std::span<const std::byte> code, float factor) const {
  for_each_entry(code, sum.size(), [&](std::size_t index, float number) {
    const float added = sum[index] + factor * number;
    sum[index] = added == added ? added : std::bit_cast<float>(0x7fc00000U);
  });
}

}  // namespace fastgpu::comm
