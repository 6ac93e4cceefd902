// The codecs, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "comm/codecs/codec.hpp"

namespace fastgpu::comm {

/// Codecs. Ranks compare these numbers: new ones are added at the end.
enum class CodecId : std::uint8_t { int8, one_bit, top_k };

/// A codec, and the part of the numbers that it sends: 0 for one that sends all.
struct CodecChoice {
  CodecId id = CodecId::int8;
  double part = 0;

  friend bool operator==(const CodecChoice&, const CodecChoice&) = default;
};

struct CodecEntry {
  CodecId id;
  std::string_view name;      ///< The name in FASTGPU_COMM_WIRE.
  bool has_part = false;      ///< ":PART" follows the name.
  bool is_dense = true;       ///< Has every number: a sum can be encoded again.
  bool has_feedback = false;  ///< What a code does not carry is added to the next gradient.
};

const CodecEntry& entry_of(CodecId id) noexcept;

/// Returns "int8, 1bit, topk:PART".
std::string codec_names();

/// Returns the codec of a text such as "int8" or "topk:0.01"; absent if it names no codec.
/// Throws ErrorKind::usage for a part that is missing, superfluous or out of range.
std::optional<CodecChoice> codec_choice(std::string_view text);

std::unique_ptr<const Codec> make_codec(const CodecChoice& choice);

}  // namespace fastgpu::comm
