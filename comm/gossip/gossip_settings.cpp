#include "comm/gossip/gossip_settings.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/fusion/fingerprint.hpp"
#include "comm/gradients/gradient_settings.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::string_view kExchange = "FASTGPU_COMM_EXCHANGE";
constexpr std::string_view kStepSize = "FASTGPU_COMM_GOSSIP_STEP";
constexpr std::string_view kGuard = "FASTGPU_COMM_GUARD";
constexpr std::string_view kWire = "FASTGPU_COMM_WIRE";

[[noreturn]] void refuse_value(std::string_view name, const std::string& value,
                               const std::string& expected) {
  throw Error(ErrorKind::usage,
              std::string(name) + " is '" + printable(value) + "', not " + expected);
}

template <class T>
T number_from(std::string_view name, const std::string& text, T least, T most,
              const std::string& expected) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= least && value <= most))
    refuse_value(name, text, expected);
  return value;
}

std::string fitting_wires() {
  std::string wires = "same";
  for (const CodecEntry& codec : all_codecs())
    if (!codec.is_linear) wires += ", " + pattern_of(codec);
  return wires;
}

/// Returns the codec of a wire of gossip or of gradients; absent for a wire without one.
std::optional<CodecChoice> codec_from(const std::string& text) try {
  if (text == "same" || text == "fp16" || text == "bf16" || text == "mixed") return std::nullopt;
  const auto codec = codec_choice(text);
  if (!codec) refuse_value(kWire, text, "one of " + fitting_wires());
  return codec;
} catch (const Error& e) {
  if (std::string_view(e.what()).starts_with(kWire)) throw;
  throw Error(e.kind(), std::string(kWire) + " is " + e.what());
}

/// Throws for a wire of gradients that gossip does not have.
void check_wire_of_gossip(const std::string& text, const std::optional<CodecChoice>& codec) {
  if (codec && (codec->momentum > 0 || codec->warmup > 0 || codec->memory > 0))
    throw Error(ErrorKind::usage,
                std::string(kWire) + " " + text +
                    ": momentum, warmup and memory belong to gradients, and gossip mixes "
                    "parameters: leave them out");
  const bool fits = codec ? !entry_of(codec->id).is_linear : text == "same";
  if (!fits)
    throw Error(ErrorKind::usage, std::string(kWire) + " " + text +
                                      " does not go with gossip, which mixes parameters: " +
                                      "use one of " + fitting_wires());
}

/// Reads the variables that only gossip has.
void read_own_variables(GossipSettings& settings, const Environment& environment) {
  if (const auto text = environment("FASTGPU_COMM_TOPOLOGY"))
    settings.topology = gossip_topology(*text);
  if (const auto text = environment(std::string(kStepSize)))
    settings.step_size =
        number_from(kStepSize, *text, 1e-6, 1.0, "a number from 0.000001 to 1, such as 0.02");
  if (const auto text = environment(std::string(kGuard)))
    settings.guard =
        number_from(kGuard, *text, 0, kMostGuardSteps,
                    "a number of steps from 0 (never) to " + std::to_string(kMostGuardSteps));
}

std::uint64_t number_of(const std::optional<CodecChoice>& codec) {
  Fingerprint number;
  number.add(static_cast<std::uint8_t>(codec.has_value()));
  if (codec)
    number.add(static_cast<std::uint8_t>(codec->id)).add(std::bit_cast<std::uint64_t>(codec->part));
  return number.value();
}

}  // namespace

bool wishes_gossip(const Environment& environment) {
  const auto value = environment(std::string(kExchange));
  if (!value || *value == "all_reduce") return false;
  if (*value == "gossip") return true;
  refuse_value(kExchange, *value, "all_reduce or gossip");
}

void check_wishes_no_gossip(const Environment& environment) {
  if (!wishes_gossip(environment)) return;
  throw Error(ErrorKind::usage,
              std::string(kExchange) +
                  " gossip mixes parameters after each step, and this program exchanges gradients, "
                  "or trains in rounds of several steps: use fgc_gossip_create (Python: Gossip or "
                  "torch_gossip.GossipOptimizer), or all_reduce");
}

void check_gossip_variables(const Environment& environment) {
  if (wishes_gossip(environment)) {
    gossip_settings(environment);
  } else {
    GossipSettings unused;
    read_own_variables(unused, environment);
  }
}

GossipSettings gossip_settings(const Environment& environment) {
  const GradientSettings folders = record_settings(environment);
  const bool is_exact = environment(std::string(kExchange)) && !wishes_gossip(environment);
  const GossipSettings exact{
      .is_exact = true, .timeline = folders.timeline, .counters = folders.counters};
  GossipSettings settings{.timeline = folders.timeline, .counters = folders.counters};
  read_own_variables(settings, environment);
  if (const auto text = environment(std::string(kWire))) {
    settings.codec = codec_from(*text);
    if (!is_exact) check_wire_of_gossip(*text, settings.codec);
  }
  return is_exact ? exact : settings;
}

SharedOfGossip shared_of(const GossipSettings& settings) {
  const double step_size = settings.codec ? settings.step_size.value_or(0) : 0;
  return {static_cast<std::uint64_t>(settings.is_exact), number_of(settings.topology),
          number_of(settings.codec), std::bit_cast<std::uint64_t>(step_size),
          static_cast<std::uint64_t>(settings.guard)};
}

std::string_view differing_variable(const SharedOfGossip& one,
                                    const SharedOfGossip& other) noexcept {
  for (std::size_t i = 0; i < one.size(); ++i)
    if (one[i] != other[i]) return kSharedOfGossip[i];
  return {};
}

std::string_view name_of(MixMethod method) noexcept {
  switch (method) {
    case MixMethod::exact:
      return "exact averages";
    case MixMethod::averaging:
      return "neighbour averaging";
    case MixMethod::difference:
      return "difference compression";
    case MixMethod::push_sum:
      return "push-sum";
  }
  return "";
}

MixMethod method_of(const GossipSettings& settings, WeightsKind weights, bool is_static) {
  if (settings.is_exact) return MixMethod::exact;
  if (settings.codec) {
    const std::string topology = printable(settings.topology.text);
    const std::string pair = std::string(kWire) + " " +
                             std::string(entry_of(settings.codec->id).name) +
                             " does not go with FASTGPU_COMM_TOPOLOGY " + topology;
    constexpr std::string_view kFits =
        "ring, hypercube, random:K or a file of one graph with '-' alone; or FASTGPU_COMM_WIRE "
        "same";
    if (!is_static)
      throw Error(ErrorKind::usage, pair +
                                        ", whose neighbours change: both ends of a connection keep "
                                        "an estimate. It goes with " +
                                        std::string(kFits));
    if (weights != WeightsKind::symmetric)
      throw Error(ErrorKind::usage,
                  pair + ", which sends one way: differences need both ways. It goes with " +
                      std::string(kFits));
    return MixMethod::difference;
  }
  return weights == WeightsKind::column_stochastic ? MixMethod::push_sum : MixMethod::averaging;
}

double usual_step_size(const CodecChoice& codec) noexcept {
  switch (codec.id) {
    case CodecId::int8:
      return 0.8;
    case CodecId::one_bit:
      return 0.2;
    case CodecId::top_k:
      return std::clamp(5 * codec.part, 0.001, 0.5);
    case CodecId::power_sgd:
      break;
  }
  return 0.1;
}

}  // namespace fastgpu::comm
