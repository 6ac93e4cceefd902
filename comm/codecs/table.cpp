#include "comm/codecs/table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/codecs/block_codec.hpp"
#include "comm/codecs/low_rank.hpp"
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
    {.id = CodecId::power_sgd, .name = "powersgd", .is_linear = true, .has_feedback = true},
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

std::uint32_t thin_from(std::string_view text, std::string_view thin) {
  std::uint32_t value = 0;
  const char* const end = thin.data() + thin.size();
  const auto [stop, error] = std::from_chars(thin.data(), end, value);
  if (error != std::errc() || stop != end || value < 1 || value > kMostThinColumns)
    refuse_choice(text, "the rank is a number from 1 to " + std::to_string(kMostThinColumns) +
                            ", such as powersgd:4");
  return value;
}

}  // namespace

const CodecEntry& entry_of(CodecId id) noexcept {
  return *std::ranges::find(kCodecs, id, &CodecEntry::id);
}

std::span<const CodecEntry> all_codecs() noexcept {
  return kCodecs;
}

std::string pattern_of(const CodecEntry& codec) {
  return std::string(codec.name) + (codec.has_part ? ":PART" : codec.is_linear ? ":RANK" : "");
}

std::string codec_names() {
  std::string names;
  for (const CodecEntry& codec : kCodecs)
    names += (names.empty() ? "" : ", ") + pattern_of(codec);
  return names;
}

std::optional<CodecChoice> codec_choice(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto* const codec = std::ranges::find(kCodecs, name, &CodecEntry::name);
  if (codec == std::end(kCodecs)) return std::nullopt;
  const bool has_number = name.size() < text.size();
  const std::string_view number = has_number ? text.substr(name.size() + 1) : std::string_view();
  CodecChoice choice{codec->id};
  if (codec->has_part)
    choice.part = part_from(text, number);
  else if (codec->is_linear)
    choice.thin = thin_from(text, number);
  else if (has_number)
    refuse_choice(text, std::string(codec->name) + " sends every number: leave the part out");
  return choice;
}

std::string text_of(const CodecChoice& choice) {
  std::string text(entry_of(choice.id).name);
  if (choice.thin > 0) return text + ":" + std::to_string(choice.thin);
  if (choice.part <= 0) return text;
  char part[32];
  const auto [end, error] = std::to_chars(part, part + sizeof(part), choice.part);
  return text + ":" + std::string(part, end);
}

std::unique_ptr<const Codec> make_codec(const CodecChoice& choice) {
  switch (choice.id) {
    case CodecId::int8:
      return std::make_unique<BlockCodec>(&Kernels::int8, kInt8Block, 8);
    case CodecId::one_bit:
      return std::make_unique<BlockCodec>(&Kernels::signs, kSignBlock, 1);
    case CodecId::top_k:
      return std::make_unique<TopK>(choice.part);
    case CodecId::power_sgd:
      break;  // Its factors need the shape of a gradient, and are added.
  }
  throw Error(ErrorKind::internal, "an unknown codec");
}

}  // namespace fastgpu::comm
