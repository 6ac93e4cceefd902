// Compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl: see loops.hpp for what must not be
// called here.
#include <immintrin.h>

#include "comm/kernels/table_of.hpp"
#include "comm/kernels/tables.hpp"
#include "comm/kernels/vector_machine.hpp"

namespace fastgpu::comm {
namespace {

struct Avx512 {
  static __m256i load_bits(const void* from) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static void store_bits(void* to, __m256i bits) noexcept {
    _mm256_storeu_si256(static_cast<__m256i*>(to), bits);
  }

  static __m512 load(const Float16* from) noexcept { return _mm512_cvtph_ps(load_bits(from)); }
  static __m512 load(const BFloat16* from) noexcept {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_bits(from)), 16));
  }

  static void store(Float16* to, __m512 value) noexcept {
    store_bits(to, _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  }
  static void store(BFloat16* to, __m512 value) noexcept {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i upper = _mm512_srli_epi32(bits, 16);
    const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    const __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
    const __m512i nan = _mm512_or_si512(upper, _mm512_set1_epi32(0x40));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    store_bits(to, _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(rounded, is_nan, nan)));
  }

  static std::uint32_t sign_bits(const float* from) noexcept {
    return _mm512_movepi32_mask(_mm512_loadu_si512(from));
  }
  static void spread_signs(std::uint32_t* to, std::uint32_t bits) noexcept {
    _mm512_storeu_si512(to, _mm512_maskz_set1_epi32(static_cast<__mmask16>(bits), INT32_MIN));
  }
  static std::size_t append_large(std::uint32_t* places, const float* from, std::uint32_t first,
                                  std::int32_t limit) noexcept {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    std::size_t found = 0;
    for (std::uint32_t at = 0; at < 64; at += 16) {
      const __m512i bits = _mm512_loadu_si512(from + at);
      const __m512i magnitudes = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
      const __mmask16 is_large = _mm512_cmpge_epi32_mask(magnitudes, _mm512_set1_epi32(limit));
      const __m512i all = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(first + at)));
      _mm512_storeu_si512(places + found, _mm512_maskz_compress_epi32(is_large, all));
      found += static_cast<std::size_t>(__builtin_popcount(is_large));
    }
    return found;
  }
  static void put_bytes(std::int8_t* to, const std::int32_t* from) noexcept {
    for (int at = 0; at < 32; at += 16) {
      const __m128i bytes = _mm512_cvtusepi32_epi8(_mm512_loadu_si512(from + at));
      const __m128i at_least = _mm_max_epu8(bytes, _mm_set1_epi8(1));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_xor_si128(at_least, _mm_set1_epi8(-128)));
    }
  }

  template <class Vector>
  static void store_past_caches(void* to, Vector value) noexcept {
    _mm512_stream_si512(static_cast<__m512i*>(to), __builtin_bit_cast(__m512i, value));
  }
  static void order_stores() noexcept { _mm_sfence(); }
};

}  // namespace

constexpr Kernels kAvx512 = loops::table_of<loops::VectorMachine<Avx512, 64>>();

const Kernels& avx512_kernels() noexcept {
  return kAvx512;
}

}  // namespace fastgpu::comm
