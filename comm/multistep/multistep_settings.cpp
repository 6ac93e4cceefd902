#include "comm/multistep/multistep_settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::comm {
namespace {

/// A mode, and the options that it has.
struct ModeEntry {
  MultistepMode mode;
  std::string_view name;
  std::uint32_t most = kMostStepsOfRound;  ///< The largest number.
  bool has_warmup = false;
  bool has_outer = false;
  double rate = 1;      ///< The default.
  double momentum = 0;  ///< The default.
};

constexpr std::array<ModeEntry, 5> kModes{{
    {MultistepMode::accumulate, "accumulate"},
    {MultistepMode::local_steps, "local_steps", kMostStepsOfRound, true},
    {MultistepMode::diloco, "diloco", kMostStepsOfRound, true, true, 0.7, 0.9},
    {MultistepMode::delay, "delay", 1},
    {MultistepMode::slices, "slices", kMostSlices, false, true},
}};

[[noreturn]] void refuse_mode(std::string_view text, const std::string& why) {
  throw Error(ErrorKind::usage, "multistep mode '" + printable(std::string(text)) + "': " + why);
}

std::string names_of_modes() {
  std::string names;
  for (const ModeEntry& entry : kModes)
    append_item(names, std::string(entry.name) + "=NUMBER");
  return names;
}

const ModeEntry& entry_of_mode(MultistepMode mode) {
  return *std::ranges::find(kModes, mode, &ModeEntry::mode);
}

std::string shortest(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

/// A "name=value".
std::pair<std::string_view, std::string_view> pair_of(std::string_view text) {
  const std::size_t sign = text.find('=');
  if (sign == text.npos) return {text, {}};
  return {text.substr(0, sign), text.substr(sign + 1)};
}

void read_option(MultistepSettings& settings, const ModeEntry& entry, std::string_view option,
                 std::string_view text) {
  const auto [name, value] = pair_of(option);
  if (name == "warmup" && entry.has_warmup) {
    const auto rounds = to_number<std::uint32_t>(value);
    if (!rounds) refuse_mode(text, "warmup is a number of steps (warmup=1000)");
    settings.warmup = *rounds;
  } else if (name == "rate" && entry.has_outer) {
    const auto rate = to_number<double>(value);
    if (!rate || !(*rate > 0 && *rate <= 10))
      refuse_mode(text, "rate is a number above 0, up to 10 (rate=0.7)");
    settings.rate = *rate;
  } else if (name == "momentum" && entry.has_outer) {
    const auto momentum = to_number<double>(value);
    if (!momentum || !(*momentum >= 0 && *momentum < 1))
      refuse_mode(text, "momentum is a number from 0, below 1 (momentum=0.9)");
    settings.momentum = *momentum;
  } else {
    std::string known = entry.has_warmup ? "warmup" : "";
    if (entry.has_outer) known += known.empty() ? "rate, momentum" : ", rate, momentum";
    refuse_mode(text, "'" + printable(std::string(name)) + "' is no option of " +
                          std::string(entry.name) +
                          (known.empty() ? ", which has none" : ", which has " + known));
  }
}

}  // namespace

bool averages_gradients(MultistepMode mode) noexcept {
  return mode == MultistepMode::accumulate || mode == MultistepMode::delay;
}

MultistepSettings multistep_settings(std::string_view text) {
  const auto [name, number] = pair_of(text.substr(0, text.find(',')));
  const auto* const entry = std::ranges::find(kModes, name, &ModeEntry::name);
  if (entry == kModes.end()) refuse_mode(text, "it is one of " + names_of_modes());
  const auto steps = to_number<std::uint32_t>(number);
  if (!steps || *steps < 1 || *steps > entry->most)
    refuse_mode(text, std::string(name) + (entry->most == 1 ? "=1 is the only delay"
                                                            : " needs a number from 1 to " +
                                                                  std::to_string(entry->most)));
  MultistepSettings settings{
      .mode = entry->mode, .steps = *steps, .rate = entry->rate, .momentum = entry->momentum};
  std::vector<std::string_view> given;
  for (std::size_t comma = text.find(','); comma != text.npos;) {
    const std::size_t next = text.find(',', comma + 1);
    const std::string_view option = text.substr(comma + 1, next - comma - 1);
    read_option(settings, *entry, option, text);
    const std::string_view option_name = pair_of(option).first;
    if (contains(given, option_name))
      refuse_mode(text, "'" + std::string(option_name) + "' is given twice");
    given.push_back(option_name);
    comma = next;
  }
  return settings;
}

std::optional<MultistepSettings> multistep_settings_of(const Environment& environment) {
  const auto text = environment("FASTGPU_COMM_MULTISTEP");
  if (!text) return std::nullopt;
  try {
    return multistep_settings(*text);
  } catch (const Error& e) {
    throw e.during("FASTGPU_COMM_MULTISTEP");
  }
}

std::string to_string(const MultistepSettings& settings) {
  const ModeEntry& entry = entry_of_mode(settings.mode);
  std::string text = std::string(entry.name) + "=" + std::to_string(settings.steps);
  if (entry.has_warmup) text += ",warmup=" + std::to_string(settings.warmup);
  if (entry.has_outer)
    text += ",rate=" + shortest(settings.rate) + ",momentum=" + shortest(settings.momentum);
  return text;
}

std::uint32_t steps_of_round(const MultistepSettings& settings, std::uint64_t round) noexcept {
  const bool has_one =
      settings.mode == MultistepMode::slices || settings.mode == MultistepMode::delay;
  return has_one || round < settings.warmup ? 1 : settings.steps;
}

std::uint32_t slice_of_round(const MultistepSettings& settings, std::uint64_t round) noexcept {
  if (settings.mode != MultistepMode::slices) return 0;
  return static_cast<std::uint32_t>(round % settings.steps);
}

std::uint32_t steps_since_average(const MultistepSettings& settings, std::uint64_t round) noexcept {
  if (settings.mode != MultistepMode::slices) return steps_of_round(settings, round);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(round + 1, settings.steps));
}

}  // namespace fastgpu::comm
