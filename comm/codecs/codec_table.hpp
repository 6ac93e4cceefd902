// The codecs, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "comm/codecs/codec.hpp"

namespace fastgpu::comm {

/// Codecs. Ranks compare these numbers: new ones are added at the end.
enum class CodecId : std::uint8_t { int8, one_bit, top_k, power_sgd };

/// A codec and its strength.
struct CodecChoice {
  CodecId id = CodecId::int8;
  double part = 0;         ///< The part of the numbers that is sent; 0 for a codec that sends all.
  std::uint32_t thin = 0;  ///< The columns of each factor of a matrix; 0 for a codec without.
  /// The momentum of the optimizer, applied by each rank before it encodes; 0: none.
  double momentum = 0;
  std::uint64_t warmup = 0;  ///< The first steps, in which the codec is weaker.
  /// The part of each code that ranks remember, to send differences from it; 0: none.
  double memory = 0;

  friend bool operator==(const CodecChoice&, const CodecChoice&) = default;
};

struct CodecEntry {
  std::string_view name;  ///< The name in FASTGPU_COMM_WIRE.
  CodecId id;
  bool has_part = false;      ///< ":PART" follows the name.
  bool is_linear = false;     ///< ":RANK" follows the name: thin factors of matrices are added.
  bool is_dense = true;       ///< Has every number: a sum can be encoded again.
  bool has_feedback = false;  ///< The rest of a code is added to the next gradient.
};

const CodecEntry& entry_of(CodecId id) noexcept;

std::span<const CodecEntry> all_codecs() noexcept;

/// Returns "topk:PART".
std::string pattern_of(const CodecEntry& codec);

/// Returns "int8, 1bit, topk:PART, powersgd:RANK".
std::string codec_names();

/// Returns the codec of a text such as "int8", "topk:0.01" or "powersgd:4", which options may
/// follow: "topk:0.01,momentum=0.9,warmup=100,memory=0.01". Absent if it names no codec. Throws
/// ErrorKind::usage for a number that is missing, superfluous or out of range.
std::optional<CodecChoice> codec_choice(std::string_view text);

/// Returns "topk:0.01", which codec_choice reads as this choice.
std::string text_of(const CodecChoice& choice);

/// Returns the codec of a step, without options: weaker ones in the steps of the warm-up; absent if
/// numbers are then sent as they are.
std::optional<CodecChoice> strength_at(const CodecChoice& choice, std::uint64_t step);

/// Returns the encoder of a codec that is not linear.
std::unique_ptr<const Codec> make_codec(const CodecChoice& choice);

}  // namespace fastgpu::comm
