#include "comm/kernels/kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <set>

#include "base/error.hpp"
#include "comm/kernels/table_of.hpp"
#include "comm/kernels/vector_machine.hpp"
#include "support/failure.hpp"
#include "support/kernel_levels.hpp"

namespace fastgpu::comm {
namespace {

using test::fill_with_random_bits;
using test::Level;
using test::Misaligned;
using Bytes = std::vector<std::byte>;

/// Vectors as wide as those of AVX-512, with nothing else of it: what the compiler makes of the
/// loops for a CPU that may have shorter ones.
struct Wide {
  using Floats = loops::VectorOf<float, 64>::Type;
  static constexpr int kLanes = 16;

  template <class Half>
  static Floats load(const Half* from) noexcept {
    Floats values;
    for (int i = 0; i < kLanes; ++i)
      values[i] = to_float(from[i]);
    return values;
  }
  static void store(Float16* to, const Floats& values) noexcept {
    for (int i = 0; i < kLanes; ++i)
      to[i] = to_float16(values[i]);
  }
  static void store(BFloat16* to, const Floats& values) noexcept {
    for (int i = 0; i < kLanes; ++i)
      to[i] = to_bfloat16(values[i]);
  }
  static std::uint32_t sign_bits(const float* from) noexcept {
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < kLanes; ++i)
      bits |= (std::bit_cast<std::uint32_t>(from[i]) >> 31U) << i;
    return bits;
  }
  static void spread_signs(std::uint32_t* to, std::uint32_t bits) noexcept {
    for (unsigned i = 0; i < kLanes; ++i)
      to[i] = (bits >> i & 1U) << 31U;
  }
  static std::size_t append_large(std::uint32_t* places, const float* from, std::uint32_t first,
                                  std::int32_t limit) noexcept {
    std::size_t found = 0;
    for (unsigned i = 0; i < 64; ++i)
      if ((std::bit_cast<std::int32_t>(from[i]) & 0x7fffffff) >= limit) places[found++] = first + i;
    return found;
  }
  static void put_bytes(std::int8_t* to, const std::int32_t* from) noexcept {
    for (int i = 0; i < 32; ++i)
      to[i] = static_cast<std::int8_t>(std::clamp(from[i], 1, 255) - 128);
  }
  template <class Vector>
  static void store_past_caches(void* to, const Vector& value) noexcept {
    __builtin_memcpy(to, &value, sizeof(value));
  }
  static void order_stores() noexcept {}
};

constexpr Kernels kWide = loops::table_of<loops::VectorMachine<Wide, 64>>();
constexpr std::size_t kLongest = 130;  ///< More than two vectors of the shortest elements.
constexpr ElementType kTypes[] = {ElementType::float32, ElementType::float64, ElementType::int32,
                                  ElementType::int64,   ElementType::float16, ElementType::bfloat16,
                                  ElementType::int8,    ElementType::uint8};

std::size_t at(ElementType type) {
  return static_cast<std::size_t>(type);
}

/// All that are compared with the portable one.
std::vector<Level> compared() {
  std::vector<Level> all = test::levels();
  all.push_back({"wide", kWide});
  return all;
}

Bytes reduced(const Kernels& with, ElementType type, std::size_t op, std::size_t count) {
  const std::size_t size = size_of(type);
  Misaligned into(size, count);
  Misaligned from(size, count);
  fill_with_random_bits(into.span(), type, static_cast<std::uint32_t>(count));
  fill_with_random_bits(from.span(), type, static_cast<std::uint32_t>(count + op + 1000));
  with.reduce[at(type)][op](into.data(), from.data(), count);
  return into.values();
}

Bytes divided(const Kernels& with, ElementType type, std::size_t count) {
  Misaligned data(size_of(type), count);
  fill_with_random_bits(data.span(), type, static_cast<std::uint32_t>(count));
  with.divide[at(type)](data.data(), count, 3);
  return data.values();
}

enum class Kind { convert, convert_checked, add };

struct Converted {
  Bytes to;
  std::size_t found = 0;

  friend bool operator==(const Converted&, const Converted&) = default;
};

Converted converted(const Kernels& with, ElementType to_type, ElementType from_type, Kind kind,
                    std::size_t count) {
  Misaligned to(size_of(to_type), count);
  Misaligned from(size_of(from_type), count);
  fill_with_random_bits(to.span(), to_type, static_cast<std::uint32_t>(count));
  fill_with_random_bits(from.span(), from_type, static_cast<std::uint32_t>(count + 1000));
  const Kernels::Conversions& entry = with.conversions[at(to_type)][at(from_type)];
  std::size_t found = 0;
  if (kind == Kind::convert) entry.convert(to.data(), from.data(), count, 1.0 / 3);
  if (kind == Kind::add) entry.add(to.data(), from.data(), count, 1.0 / 3);
  if (kind == Kind::convert_checked)
    found = entry.convert_checked(to.data(), from.data(), count, 1.0 / 3);
  return {to.values(), found};
}

TEST_SUITE_BEGIN("comm/kernels");

TEST_CASE("a CPU gets the highest level of which it has every part") {
  CHECK(highest_level({}) == SimdLevel::portable);
  CHECK(highest_level({.avx2 = true}) == SimdLevel::portable);
  CHECK(highest_level({.avx2 = true, .f16c = true}) == SimdLevel::avx2);
  CpuFeatures all{true, true, true, true, true, true};
  CHECK(highest_level(all) == SimdLevel::avx512);
  for (bool CpuFeatures::*part : {&CpuFeatures::avx512f, &CpuFeatures::avx512bw,
                                  &CpuFeatures::avx512dq, &CpuFeatures::avx512vl}) {
    CpuFeatures lacking = all;
    lacking.*part = false;
    CHECK(highest_level(lacking) == SimdLevel::avx2);
  }
}

TEST_CASE("a lower level than the CPU's may be asked for, and a higher one is refused") {
  CHECK(chosen_level(SimdLevel::avx2, std::nullopt) == SimdLevel::avx2);
  CHECK(chosen_level(SimdLevel::avx2, "portable") == SimdLevel::portable);
  const Error higher = test::failure_of([] { chosen_level(SimdLevel::avx2, "avx512"); });
  CHECK(higher.kind() == ErrorKind::usage);
  CHECK(std::string(higher.what()) ==
        "FASTGPU_COMM_SIMD is 'avx512', which this CPU does not have: its highest is 'avx2'");
  CHECK(test::failure_of([] { chosen_level(SimdLevel::avx2, "sse9"); }).kind() == ErrorKind::usage);
}

TEST_CASE("every level reduces to the same bits, for any length and alignment") {
  const Kernels& portable = kernels_of(SimdLevel::portable);
  for (const Level& level : compared()) {
    for (const ElementType type : kTypes) {
      for (std::size_t op = 0; op < kReduceOps; ++op) {
        CAPTURE(level.name);
        CAPTURE(name_of(type));
        CAPTURE(op);
        std::set<std::size_t> differing;
        for (std::size_t count = 0; count <= kLongest; ++count)
          if (reduced(level.kernels, type, op, count) != reduced(portable, type, op, count))
            differing.insert(count);
        CHECK(differing.empty());
      }
    }
  }
}

TEST_CASE("every operation gives the same bits whichever operand comes first") {
  for (const Level& level : compared()) {
    for (const ElementType type : kTypes) {
      for (std::size_t op = 0; op < kReduceOps; ++op) {
        CAPTURE(level.name);
        CAPTURE(name_of(type));
        CAPTURE(op);
        Misaligned a(size_of(type), kLongest);
        Misaligned b(size_of(type), kLongest);
        fill_with_random_bits(a.span(), type, 1);
        fill_with_random_bits(b.span(), type, 2);
        const Bytes second = b.values();
        level.kernels.reduce[at(type)][op](b.data(), a.data(), kLongest);
        level.kernels.reduce[at(type)][op](a.data(), second.data(), kLongest);
        CHECK(a.values() == b.values());
      }
    }
  }
}

TEST_CASE("every level divides to the same bits") {
  for (const Level& level : compared()) {
    for (const ElementType type : kTypes) {
      CAPTURE(level.name);
      CAPTURE(name_of(type));
      for (std::size_t count = 0; count <= kLongest; ++count)
        CHECK(divided(level.kernels, type, count) ==
              divided(kernels_of(SimdLevel::portable), type, count));
    }
  }
}

TEST_CASE("every level converts to the same bits, and finds the same element") {
  const Kernels& portable = kernels_of(SimdLevel::portable);
  for (const Level& level : compared()) {
    for (const ElementType to : kTypes) {
      for (const ElementType from : kTypes) {
        if (portable.conversions[at(to)][at(from)].convert == nullptr) continue;
        CAPTURE(level.name);
        CAPTURE(name_of(to));
        CAPTURE(name_of(from));
        for (const Kind kind : {Kind::convert, Kind::convert_checked, Kind::add})
          for (std::size_t count = 0; count <= kLongest; ++count)
            CHECK(converted(level.kernels, to, from, kind, count) ==
                  converted(portable, to, from, kind, count));
      }
    }
  }
}

TEST_CASE("every float16 and bfloat16 becomes the same float32 at every level, and back") {
  for (const Level& level : compared()) {
    CAPTURE(level.name);
    std::vector<std::uint16_t> halves(0x10000);
    for (std::size_t i = 0; i < halves.size(); ++i)
      halves[i] = static_cast<std::uint16_t>(i);
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
      std::vector<float> floats(halves.size());
      std::vector<std::uint16_t> back(halves.size());
      const auto convert = [&](ElementType to, ElementType from, void* out, const void* in) {
        level.kernels.conversions[at(to)][at(from)].convert(out, in, halves.size(), 1);
      };
      convert(ElementType::float32, type, floats.data(), halves.data());
      convert(type, ElementType::float32, back.data(), floats.data());
      const bool is_16 = type == ElementType::float16;
      int wrong = 0;
      for (std::size_t i = 0; i < halves.size(); ++i) {
        const float value = is_16 ? to_float(Float16{halves[i]}) : to_float(BFloat16{halves[i]});
        const std::uint16_t again = is_16 ? to_float16(value).bits : to_bfloat16(value).bits;
        const bool is_same = value == floats[i] || (value != value && floats[i] != floats[i]);
        wrong += is_same && again == back[i] ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a copy past the caches writes exactly its bytes, from and to anywhere") {
  for (const Level& level : compared()) {
    CAPTURE(level.name);
    for (const std::size_t offset : {0U, 1U, 63U}) {
      for (std::size_t bytes = 0; bytes < 300; bytes += 7) {
        Misaligned from(1, bytes + offset);
        fill_with_random_bits(from.span(), ElementType::uint8, 3);
        Bytes to(bytes + offset + 1);
        Bytes expected = to;
        std::memcpy(expected.data() + offset, from.data(), bytes);
        level.kernels.stream(to.data() + offset, from.data(), bytes);
        CHECK(to == expected);
      }
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
