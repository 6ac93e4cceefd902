#include "comm/gradients/gradient_settings.hpp"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "comm/codecs/low_rank.hpp"
#include "comm/fusion/fingerprint.hpp"

namespace fastgpu::comm {
namespace {

struct Variable {
  std::string name;
  std::string value;
};

[[noreturn]] void refuse(const Variable& variable, const std::string& expected) {
  throw Error(ErrorKind::usage,
              variable.name + " is '" + printable(variable.value) + "', not " + expected);
}

std::optional<Variable> find(const Environment& environment, const std::string& name) {
  if (auto value = environment(name)) return Variable{name, std::move(*value)};
  return std::nullopt;
}

std::optional<Variable> ours(const Environment& environment, const std::string& name) {
  return find(environment, "FASTGPU_COMM_" + name);
}

std::optional<Variable> theirs(const Environment& environment, const std::string& name) {
  return find(environment, "PERSEUS_ALLREDUCE_" + name);
}

int number(const Variable& variable, int least, int most) {
  const auto value = to_number<int>(variable.value);
  if (!value || *value < least || *value > most)
    refuse(variable, "a number from " + std::to_string(least) + " to " + std::to_string(most));
  return *value;
}

template <class T>
T choice(const Variable& variable, std::span<const std::pair<std::string_view, T>> choices,
         const std::string& others = "") {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (name == variable.value) return value;
    append_item(names, name);
  }
  refuse(variable, "one of " + names + others);
}

bool is_on(const Variable& variable) {
  if (variable.value != "0" && variable.value != "1") refuse(variable, "0 or 1");
  return variable.value == "1";
}

Bytes size_from(const Variable& variable) {
  try {
    return parse_size(variable.value);
  } catch (const Error& e) {
    throw e.during(variable.name);
  }
}

Bytes size_above_0(const Variable& variable) {
  const Bytes size = size_from(variable);
  if (size.count == 0) refuse(variable, "above 0");
  return size;
}

constexpr std::pair<std::string_view, WireType> kWireTypes[] = {{"same", WireType::same},
                                                                {"fp16", WireType::float16},
                                                                {"bf16", WireType::bfloat16},
                                                                {"mixed", WireType::mixed}};
constexpr std::pair<std::string_view, WireType> kPerseusTypes[] = {
    {"0", WireType::float16}, {"1", WireType::same}, {"2", WireType::mixed}};
constexpr std::pair<std::string_view, NonFiniteAction> kActions[] = {
    {"off", NonFiniteAction::off},   {"warn", NonFiniteAction::warn},
    {"skip", NonFiniteAction::skip}, {"stop", NonFiniteAction::stop},
    {"0", NonFiniteAction::off},     {"1", NonFiniteAction::warn}};

std::vector<std::string> patterns(std::string_view list) {
  std::vector<std::string> found;
  while (!list.empty()) {
    const std::string_view pattern = list.substr(0, list.find(','));
    if (!pattern.empty()) found.emplace_back(pattern);
    list.remove_prefix(std::min(pattern.size() + 1, list.size()));
  }
  return found;
}

std::string cache_folder(const Environment& environment) {
  if (const auto cache = environment("XDG_CACHE_HOME")) return *cache + "/fastgpu/comm";
  if (const auto home = environment("HOME")) return *home + "/.cache/fastgpu/comm";
  return "";
}

/// Returns true for a wire whose codes of all numbers are short, so that a bucket is soon sent.
bool sends_short_codes(const GradientSettings& settings) {
  return settings.wire == WireType::encoded &&
         (settings.codec.id == CodecId::int8 || settings.codec.id == CodecId::one_bit);
}

/// Reads the size of buckets, after the wire.
void read_fusion(GradientSettings& settings, const Environment& environment) {
  constexpr int kMostMebibytes = 4096;
  if (sends_short_codes(settings)) settings.bucket = kBucketOfShortCodes;
  if (const auto own = ours(environment, "FUSION"))
    settings.bucket = size_above_0(*own);
  else if (const auto other = theirs(environment, "FUSION"))
    settings.bucket = {static_cast<std::uint64_t>(number(*other, 1, kMostMebibytes)) << 20};
}

void read_own_wire(GradientSettings& settings, const Variable& wire) try {
  if (const auto codec = codec_choice(wire.value)) {
    settings.wire = WireType::encoded;
    settings.codec = *codec;
    return;
  }
  settings.wire = choice<WireType>(wire, kWireTypes, ", " + codec_names());
} catch (const Error& e) {
  if (std::string_view(e.what()).starts_with(wire.name)) throw;
  throw Error(e.kind(), wire.name + " is " + e.what());
}

void read_wire(GradientSettings& settings, const Environment& environment) {
  if (const auto own = ours(environment, "WIRE"))
    read_own_wire(settings, *own);
  else if (const auto other = theirs(environment, "DTYPE"))
    settings.wire = choice<WireType>(*other, kPerseusTypes);
  if (const auto small = ours(environment, "MIXED_SMALL")) settings.small = size_from(*small);
  if (const auto keep = ours(environment, "MIXED_KEEP"))
    settings.keep_float32 = patterns(keep->value);
}

void read_non_finite(GradientSettings& settings, const Environment& environment) {
  if (const auto own = ours(environment, "NANCHECK"))
    settings.non_finite = choice<NonFiniteAction>(*own, kActions);
  else if (const auto other = theirs(environment, "NANCHECK"))
    settings.non_finite = is_on(*other) ? NonFiniteAction::warn : NonFiniteAction::off;
}

void read_streams(GradientSettings& settings, const Environment& environment) {
  if (const auto own = ours(environment, "LANES"))
    settings.streams = number(*own, 1, kMostStreams);
  else if (const auto other = theirs(environment, "STREAMS"))
    settings.streams = std::min(number(*other, 1, 1024), kMostStreams);
  if (const auto own = ours(environment, "TUNE"))
    settings.is_tuned = is_on(*own);
  else if (const auto other = theirs(environment, "DISABLE_STREAM_TUNING"))
    settings.is_tuned = !is_on(*other);
  if (const auto other = theirs(environment, "MODE")) number(*other, 0, 1024);
}

void read_stall(GradientSettings& settings, const Environment& environment) {
  const auto stall = ours(environment, "STALL");
  if (!stall) return;
  try {
    settings.stall = parse_duration(stall->value);
  } catch (const Error& e) {
    throw e.during(stall->name);
  }
  if (settings.stall.count() == 0) refuse(*stall, "above 0");
}

/// Both have files of the same names, of which the last one written would stay.
void check_folders(const GradientSettings& settings) {
  const auto whole = [](const std::string& folder) {
    return std::filesystem::path(folder + "/").lexically_normal();
  };
  if (settings.timeline.empty() || settings.counters.empty()) return;
  if (whole(settings.timeline) != whole(settings.counters)) return;
  throw Error(ErrorKind::usage, "FASTGPU_COMM_COUNTERS is '" + printable(settings.counters, 200) +
                                    "', the folder of FASTGPU_COMM_TIMELINE, and both write "
                                    "rank-<number>.json: name two folders");
}

constexpr std::string_view kOwnNames = "fastgpu_comm.";

bool has_momentum(const GradientSettings& settings) noexcept {
  return settings.wire == WireType::encoded && settings.codec.momentum > 0;
}

bool is_codable(ElementType type) noexcept {
  return type == ElementType::float32 || type == ElementType::float16 ||
         type == ElementType::bfloat16;
}

bool keeps_float32(const GradientTable& table, GradientId id, const GradientSettings& settings) {
  return table.bytes(id) < settings.small.count || is_own_name(table[id].name) ||
         std::ranges::any_of(settings.keep_float32, [&](const std::string& pattern) {
           return matches(pattern, table[id].name);
         });
}

}  // namespace

GradientSettings record_settings(const Environment& environment) {
  GradientSettings settings{.timeline = environment("FASTGPU_COMM_TIMELINE").value_or(""),
                            .counters = environment("FASTGPU_COMM_COUNTERS").value_or("")};
  check_folders(settings);
  return settings;
}

GradientSettings gradient_settings(const Environment& environment) {
  GradientSettings settings = record_settings(environment);
  read_wire(settings, environment);
  read_fusion(settings, environment);
  read_non_finite(settings, environment);
  read_streams(settings, environment);
  read_stall(settings, environment);
  settings.cache = cache_folder(environment);
  settings.device = gpu::device_settings(environment);
  return settings;
}

bool is_own_name(std::string_view name) noexcept {
  return name.starts_with(kOwnNames);
}

std::vector<bool> encoded_gradients(const GradientTable& table, const GradientSettings& settings) {
  std::vector<bool> encoded(table.size());
  if (settings.wire != WireType::encoded) return encoded;
  const bool is_linear = entry_of(settings.codec.id).is_linear;
  for (std::size_t i = 0; i < table.size(); ++i) {
    encoded[i] = is_codable(table[{i}].type) && !keeps_float32(table, {i}, settings) &&
                 (!is_linear || low_rank_form(table[{i}].shape, settings.codec.thin));
  }
  return encoded;
}

std::vector<bool> moved_gradients(const GradientTable& table, const GradientSettings& settings) {
  std::vector<bool> moved(table.size());
  for (std::size_t i = 0; i < table.size(); ++i)
    moved[i] =
        has_momentum(settings) && is_codable(table[{i}].type) && !is_own_name(table[{i}].name);
  return moved;
}

std::string text_of_wire(const GradientSettings& settings) {
  if (settings.wire == WireType::encoded) return text_of(settings.codec);
  for (const auto& [name, type] : kWireTypes)
    if (type == settings.wire) return std::string(name);
  return "";
}

std::uint64_t number_of_wire(const GradientSettings& settings) {
  const bool is_encoded = settings.wire == WireType::encoded;
  const CodecChoice codec = is_encoded ? settings.codec : CodecChoice{};
  return Fingerprint()
      .add(static_cast<std::uint8_t>(settings.wire))
      .add(static_cast<std::uint8_t>(codec.id))
      .add(std::bit_cast<std::uint64_t>(codec.part))
      .add(codec.thin)
      .add(std::bit_cast<std::uint64_t>(codec.momentum))
      .add(codec.warmup)
      .add(std::bit_cast<std::uint64_t>(codec.memory))
      .value();
}

std::vector<ElementType> wire_types(const GradientTable& table, const GradientSettings& settings) {
  std::vector<ElementType> types(table.size());
  const std::vector<bool> encoded = encoded_gradients(table, settings);
  const std::vector<bool> moved = moved_gradients(table, settings);
  for (std::size_t i = 0; i < table.size(); ++i) {
    types[i] = encoded[i] || moved[i] ? ElementType::float32 : table[{i}].type;
    if (types[i] != ElementType::float32) continue;
    switch (settings.wire) {
      case WireType::same:
      case WireType::encoded:
        break;
      case WireType::float16:
        types[i] = ElementType::float16;
        break;
      case WireType::bfloat16:
        types[i] = ElementType::bfloat16;
        break;
      case WireType::mixed:
        if (!keeps_float32(table, {i}, settings)) types[i] = ElementType::float16;
        break;
    }
  }
  return types;
}

std::optional<std::string> doubt_of_patterns(const GradientTable& table,
                                             const GradientSettings& settings) {
  if (settings.wire != WireType::mixed && settings.wire != WireType::encoded) return std::nullopt;
  for (const std::string& pattern : settings.keep_float32) {
    if (pattern.find_first_of("[]{}\\") == std::string::npos) continue;
    std::size_t id = 0;
    while (id < table.size() && !matches(pattern, table[{id}].name))
      ++id;
    if (id < table.size()) continue;
    return "no gradient has a name like '" + printable(pattern) +
           "' of FASTGPU_COMM_MIXED_KEEP: * is any text there and ? one character, and brackets "
           "are "
           "parts of names";
  }
  return std::nullopt;
}

/// Matches with '*' and '?'. On a mismatch it goes back to the last '*', one character further each
/// time.
bool matches(std::string_view pattern, std::string_view name) noexcept {
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (in < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resume = in;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[in])) {
      ++at;
      ++in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace fastgpu::comm
