#include "comm/codecs/codec_table.hpp"

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

constexpr double kMostPart = 0.5;    ///< An entry takes as much as a float32 does.
constexpr double kFirstPart = 0.25;  ///< The part with which a warm-up begins.
constexpr double kStronger = 4;      ///< The part shrinks so from one stage to the next.
constexpr std::uint64_t kMostWarmup = 1'000'000'000;

constexpr CodecEntry kCodecs[] = {
    {.name = "int8", .id = CodecId::int8},
    {.name = "1bit", .id = CodecId::one_bit, .has_feedback = true},
    {.name = "topk",
     .id = CodecId::top_k,
     .has_part = true,
     .is_dense = false,
     .has_feedback = true},
    {.name = "powersgd", .id = CodecId::power_sgd, .is_linear = true, .has_feedback = true},
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

template <class T>
T option_from(std::string_view text, std::string_view number, const std::string& expected) {
  T value{};
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  if (error != std::errc() || stop != end) refuse_choice(text, expected);
  return value;
}

void read_option(CodecChoice& choice, std::string_view text, std::string_view option) {
  const std::string_view name = option.substr(0, option.find('='));
  const std::string_view number =
      name.size() < option.size() ? option.substr(name.size() + 1) : std::string_view();
  if (name == "momentum" && choice.momentum <= 0) {
    const std::string expected = "momentum is a number above 0 and below 1, such as momentum=0.9";
    choice.momentum = option_from<double>(text, number, expected);
    if (!(choice.momentum > 0 && choice.momentum < 1)) refuse_choice(text, expected);
  } else if (name == "warmup" && choice.warmup == 0) {
    const std::string expected =
        "warmup is a number of steps from 1 to " + std::to_string(kMostWarmup);
    choice.warmup = option_from<std::uint64_t>(text, number, expected);
    if (choice.warmup < 1 || choice.warmup > kMostWarmup) refuse_choice(text, expected);
  } else if (name == "memory" && choice.memory <= 0) {
    const std::string expected =
        choice.part > 0 ? "memory is a number above 0 and up to the part of topk, such as "
                          "topk:0.01,memory=0.01"
                        : "memory is an option of topk alone, such as topk:0.01,memory=0.01";
    choice.memory = option_from<double>(text, number, expected);
    if (!(choice.memory > 0 && choice.memory <= choice.part)) refuse_choice(text, expected);
  } else {
    refuse_choice(text,
                  "the options of a codec are momentum=0.9, warmup=100 and memory=0.01, each once");
  }
}

std::string text_of_number(double number) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), number);
  return {text, end};
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
  const std::string_view first = text.substr(0, text.find(','));
  const std::string_view name = first.substr(0, first.find(':'));
  const auto* const codec = std::ranges::find(kCodecs, name, &CodecEntry::name);
  if (codec == std::end(kCodecs)) return std::nullopt;
  const bool has_number = name.size() < first.size();
  const std::string_view number = has_number ? first.substr(name.size() + 1) : std::string_view();
  CodecChoice choice{codec->id};
  if (codec->has_part)
    choice.part = part_from(text, number);
  else if (codec->is_linear)
    choice.thin = thin_from(text, number);
  else if (has_number)
    refuse_choice(text, std::string(codec->name) + " sends every number: leave the part out");
  for (std::size_t at = first.size(); at < text.size();) {
    const std::string_view rest = text.substr(at + 1);
    const std::string_view option = rest.substr(0, rest.find(','));
    read_option(choice, text, option);
    at += 1 + option.size();
  }
  return choice;
}

std::string text_of(const CodecChoice& choice) {
  std::string text(entry_of(choice.id).name);
  if (choice.thin > 0) text += ":" + std::to_string(choice.thin);
  if (choice.part > 0) text += ":" + text_of_number(choice.part);
  if (choice.momentum > 0) text += ",momentum=" + text_of_number(choice.momentum);
  if (choice.warmup > 0) text += ",warmup=" + std::to_string(choice.warmup);
  if (choice.memory > 0) text += ",memory=" + text_of_number(choice.memory);
  return text;
}

std::optional<CodecChoice> strength_at(const CodecChoice& choice, std::uint64_t step) {
  CodecChoice strength{.id = choice.id, .part = choice.part, .thin = choice.thin};
  if (step >= choice.warmup) return strength;
  if (!entry_of(choice.id).has_part) return std::nullopt;
  std::uint64_t stages = 0;
  double part = kFirstPart;
  while (part > choice.part) {
    part /= kStronger;
    ++stages;
  }
  if (stages == 0) return strength;
  strength.part = kFirstPart;
  for (std::uint64_t stage = step * stages / choice.warmup; stage > 0; --stage)
    strength.part /= kStronger;
  return strength;
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
