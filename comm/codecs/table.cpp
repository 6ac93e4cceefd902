#include "comm/codecs/table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/codecs/block_codec.hpp"
#include "comm/codecs/top_k.hpp"

namespace fastgpu::comm {
namespace {

constexpr double kMostPart = 0.5;  ///< An entry takes more than a float32 does.

constexpr CodecEntry kCodecs[] = {
    {.id = CodecId::int8, .name = "int8"},
    {.id = CodecId::one_bit, .name = "1bit", .has_feedback = true},
    {.id = CodecId::top_k,
     .name = "topk",
     .has_part = true,
     .is_dense = false,
     .has_feedback = true},
};

[[noreturn]] void refuse_choice(std::string_view text, const std::string& expected) {
  throw Error(ErrorKind::usage, "'" + printable(text) + "': " + expected);
}

double part_from(std::string_view text, std::string_view part) {
  double value = 0;
  const char* const end = part.data() + part.size();
  const auto [stop, error] = std::from_chars(part.data(), end, value);
  if (error != std::errc() || stop != end || !(value > 0 && value <= kMostPart))
    refuse_choice(text, "the part is a number above 0 and up to 0.5, such as topk:0.01");
  return value;
}

}  // namespace

const CodecEntry& entry_of(CodecId id) noexcept {
  return *std::ranges::find(kCodecs, id, &CodecEntry::id);
}

std::string codec_names() {
  std::string names;
  for (const CodecEntry& codec : kCodecs)
    names +=
        (names.empty() ? "" : ", ") + std::string(codec.name) + (codec.has_part ? ":PART" : "");
  return names;
}

std::optional<CodecChoice> codec_choice(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto* const codec = std::ranges::find(kCodecs, name, &CodecEntry::name);
  if (codec == std::end(kCodecs)) return std::nullopt;
  const bool has_part = name.size() < text.size();
  if (has_part && !codec->has_part)
    refuse_choice(text, std::string(codec->name) + " sends every number: leave the part out");
  if (!codec->has_part) return CodecChoice{codec->id};
  return CodecChoice{codec->id,
                     part_from(text, has_part ? text.substr(name.size() + 1) : std::string_view())};
}

std::unique_ptr<const Codec> make_codec(const CodecChoice& choice) {
  switch (choice.id) {
    case CodecId::int8:
      return std::make_unique<BlockCodec>(&Kernels::int8, kInt8Block, 8);
    case CodecId::one_bit:
      return std::make_unique<BlockCodec>(&Kernels::signs, kSignBlock, 1);
    case CodecId::top_k:
      return std::make_unique<TopK>(choice.part);
  }
  throw Error(ErrorKind::internal, "an unknown codec");
}

}  // namespace fastgpu::comm
