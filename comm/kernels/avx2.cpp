// Compiled with -mavx2 -mf16c: see loops.hpp for what must not be called here.
#include <immintrin.h>

#include "comm/kernels/table_of.hpp"
#include "comm/kernels/tables.hpp"
#include "comm/kernels/vector_machine.hpp"

namespace fastgpu::comm {
namespace {

struct Avx2 {
  static __m128i load_bits(const void* from) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  }
  static void store_bits(void* to, __m128i bits) noexcept {
    _mm_storeu_si128(static_cast<__m128i*>(to), bits);
  }

  static __m256 load(const Float16* from) noexcept { return _mm256_cvtph_ps(load_bits(from)); }
  static __m256 load(const BFloat16* from) noexcept {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_bits(from)), 16));
  }

  static void store(Float16* to, __m256 value) noexcept {
    store_bits(to, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  }
  static void store(BFloat16* to, __m256 value) noexcept {
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i upper = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    const __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    const __m256i nan = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i result = _mm256_blendv_epi8(rounded, nan, is_nan);
    store_bits(
        to, _mm_packus_epi32(_mm256_castsi256_si128(result), _mm256_extracti128_si256(result, 1)));
  }

  static std::uint32_t sign_bits(const float* from) noexcept {
    return joined(_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8));
  }
  static void spread_signs(std::uint32_t* to, std::uint32_t bits) noexcept {
    const __m256i all = _mm256_set1_epi32(static_cast<int>(bits));
    const __m256i low = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
    const __m256i high = _mm256_sub_epi32(low, _mm256_set1_epi32(8));
    const __m256i sign = _mm256_set1_epi32(INT32_MIN);
    auto* const vectors = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(vectors, _mm256_and_si256(_mm256_sllv_epi32(all, low), sign));
    _mm256_storeu_si256(vectors + 1, _mm256_and_si256(_mm256_sllv_epi32(all, high), sign));
  }
  static std::size_t append_large(std::uint32_t* places, const float* from, std::uint32_t first,
                                  std::int32_t limit) noexcept {
    std::uint64_t bits = 0;
    for (unsigned at = 0; at < 64; at += 16) {
      const std::uint64_t more = joined(reaches(from + at, limit), reaches(from + at + 8, limit));
      bits |= more << at;
    }
    return loops::append_lanes<Avx2>(places, first, bits);
  }
  static void put_bytes(std::int8_t* to, const std::int32_t* from) noexcept {
    const auto* const vectors = reinterpret_cast<const __m256i*>(from);
    const auto two = [vectors](int at) {
      return _mm256_packus_epi32(_mm256_loadu_si256(vectors + at),
                                 _mm256_loadu_si256(vectors + at + 1));
    };
    const __m256i mixed = _mm256_packus_epi16(two(0), two(2));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = _mm256_permutevar8x32_epi32(mixed, order);
    const __m256i at_least = _mm256_max_epu8(bytes, _mm256_set1_epi8(1));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_xor_si256(at_least, _mm256_set1_epi8(-128)));
  }

  template <class Vector>
  static void store_past_caches(void* to, Vector value) noexcept {
    _mm256_stream_si256(static_cast<__m256i*>(to), __builtin_bit_cast(__m256i, value));
  }
  static void order_stores() noexcept { _mm_sfence(); }

 private:
  static std::uint32_t joined(__m256 low, __m256 high) noexcept {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(low)) |
           static_cast<std::uint32_t>(_mm256_movemask_ps(high)) << 8U;
  }
  static __m256 reaches(const float* from, std::int32_t limit) noexcept {
    const __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(from));
    const __m256i magnitudes = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(magnitudes, _mm256_set1_epi32(limit - 1)));
  }
};

}  // namespace

constexpr Kernels kAvx2 = loops::table_of<loops::VectorMachine<Avx2, 32>>();

const Kernels& avx2_kernels() noexcept {
  return kAvx2;
}

}  // namespace fastgpu::comm
