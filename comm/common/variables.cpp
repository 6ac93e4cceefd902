#include "comm/common/variables.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::string_view kPrefix = "FASTGPU_COMM_";
/// The variables that comm/README.md describes.
constexpr std::string_view kNames[] = {
    "ALGORITHM",     "COLLECTIVES",   "COUNTERS",   "DEVICE",       "EXCHANGE",    "FABRIC",
    "FABRIC_DEVICE", "FABRIC_PLUGIN", "FABRIC_PUT", "FLOWS",        "FUSION",      "GOSSIP_STEP",
    "GPUDIRECT",     "GUARD",         "INTERFACE",  "JOIN_TIMEOUT", "LANES",       "LIBRARY",
    "MASTER_ADDR",   "MASTER_PORT",   "MIXED_KEEP", "MIXED_SMALL",  "MPI_PLUGIN",  "MULTISTEP",
    "NANCHECK",      "NCCL",          "REQUIRE",    "SECRET",       "SECRET_FILE", "SHARED_MEMORY",
    "SILENCE",       "SIMD",          "STALL",      "TIMELINE",     "TIMEOUT",     "TOPOLOGY",
    "TRANSPORT",     "TUNE",          "WIRE"};
/// The variables of launchers and other libraries that this library reads, and the folders of
/// caches.
constexpr std::string_view kOthers[] = {"CUDA_VISIBLE_DEVICES",
                                        "FASTGPU_BLAME_FILE",
                                        "FASTGPU_LOCAL_RANK",
                                        "HOME",
                                        "LOCAL_RANK",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PERSEUS_ALLREDUCE_DISABLE_STREAM_TUNING",
                                        "PERSEUS_ALLREDUCE_DTYPE",
                                        "PERSEUS_ALLREDUCE_FUSION",
                                        "PERSEUS_ALLREDUCE_MODE",
                                        "PERSEUS_ALLREDUCE_NANCHECK",
                                        "PERSEUS_ALLREDUCE_STREAMS",
                                        "RANK",
                                        "SLURM_LOCALID",
                                        "WORLD_SIZE",
                                        "XDG_CACHE_HOME"};

/// The exchanges that a setting has an effect on.
struct Effect {
  bool on_gradients = false;
  bool on_gossip = false;
  bool on_multistep = false;
};
constexpr Effect kOnAll{true, true, true};
constexpr Effect kOnRounds{.on_gradients = true, .on_multistep = true};
constexpr Effect kOnGradients{.on_gradients = true};
constexpr Effect kOnGossip{.on_gossip = true};
constexpr Effect kOnMultistep{.on_multistep = true};

/// A variable of this library that is a setting of exchanges.
struct ExchangeSetting {
  std::string_view name;
  Effect effect;
};
constexpr ExchangeSetting kOfExchanges[] = {{"COUNTERS", kOnAll},
                                            {"DEVICE", kOnGradients},
                                            {"EXCHANGE", kOnAll},
                                            {"FUSION", kOnRounds},
                                            {"GOSSIP_STEP", kOnGossip},
                                            {"GUARD", kOnGossip},
                                            {"LANES", kOnRounds},
                                            {"MIXED_KEEP", kOnRounds},
                                            {"MIXED_SMALL", kOnRounds},
                                            {"MULTISTEP", kOnMultistep},
                                            {"NANCHECK", kOnRounds},
                                            {"NCCL", kOnGradients},
                                            {"STALL", kOnRounds},
                                            {"TIMELINE", kOnAll},
                                            {"TOPOLOGY", kOnGossip},
                                            {"TUNE", kOnRounds},
                                            {"WIRE", kOnAll}};
/// A setting that changes what is computed. Where it had no effect, a program would train in
/// another way than its user asks for. Others only change how fast an exchange is.
struct Wish {
  std::string_view name;
  std::string_view none;    ///< The value that asks for nothing.
  std::string_view remedy;  ///< What to do where it has no effect.
};
constexpr Wish kWishes[] = {
    {"MULTISTEP", "",
     "use fgc_multistep_create (Python: Multistep, or MultistepOptimizer of torch), or leave it "
     "out"},
    {"TOPOLOGY", "",
     "use fgc_gossip_create (Python: Gossip, or torch_gossip.GossipOptimizer), or leave it out"},
    {"NANCHECK", "off", "look at the parameters in the program, or leave it out"}};
/// The variables that hold for a whole process, whatever jobs it joins.
constexpr std::string_view kOfProcess[] = {"LIBRARY", "SIMD"};

std::string_view without_prefix(std::string_view name) {
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : std::string_view();
}

/// Returns the effect of a setting of exchanges; absent for other settings.
std::optional<Effect> effect_of(const std::string& name) {
  const auto* const found =
      std::ranges::find(kOfExchanges, without_prefix(name), &ExchangeSetting::name);
  if (found != std::end(kOfExchanges)) return found->effect;
  const bool is_of_others =
      name == "HOME" || name == "XDG_CACHE_HOME" || name.starts_with("PERSEUS_");
  return is_of_others ? std::optional(kOnRounds) : std::nullopt;
}

/// Throws usage for a name that has no effect. `own` is what follows kPrefix, as it was meant.
[[noreturn]] void refuse_name(const std::string& name, std::string_view own) {
  const std::vector<std::string> known(std::begin(kNames), std::end(kNames));
  const std::string nearest = nearest_name(own, known);
  throw Error(
      ErrorKind::usage,
      printable(name) + " is no variable of libfastgpu_comm" +
          (nearest.empty() ? "" : ": did you mean " + std::string(kPrefix) + nearest + "?"));
}

std::string upper(std::string_view text) {
  std::string all(text);
  for (char& each : all)
    if (each >= 'a' && each <= 'z') each = static_cast<char>(each - 'a' + 'A');
  return all;
}

}  // namespace

std::vector<std::string> process_variables() {
  std::vector<std::string> names;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    names.emplace_back(variable.substr(0, variable.find('=')));
  }
  return names;
}

void check_variables(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string_view own = std::string_view(name).substr(kPrefix.size());
    if (!contains(kNames, own)) refuse_name(name, own);
  }
}

SettingPlace place_of_setting(const std::string& name) {
  if (contains(kOfProcess, without_prefix(name))) return SettingPlace::process;
  return effect_of(name) ? SettingPlace::exchange : SettingPlace::job;
}

std::string_view name_of(ExchangeKind kind) noexcept {
  switch (kind) {
    case ExchangeKind::gradients:
      return "gradients";
    case ExchangeKind::gossip:
      return "gossip";
    case ExchangeKind::multistep:
      return "multistep training";
  }
  return "";
}

bool has_effect_on(ExchangeKind kind, const std::string& name) {
  const Effect effect = effect_of(name).value_or(Effect{});
  switch (kind) {
    case ExchangeKind::gradients:
      return effect.on_gradients;
    case ExchangeKind::gossip:
      return effect.on_gossip;
    case ExchangeKind::multistep:
      return effect.on_multistep;
  }
  return false;
}

void check_wishes(ExchangeKind kind, const Environment& environment) {
  // A program may set it to compare an exact exchange with gossip, whose settings then stay.
  const bool is_exact = environment(std::string(kPrefix) + "EXCHANGE") == "all_reduce";
  for (const Wish& wish : kWishes) {
    const std::string name = std::string(kPrefix) + std::string(wish.name);
    const auto value = environment(name);
    if (!value || *value == wish.none || has_effect_on(kind, name)) continue;
    if (is_exact && has_effect_on(ExchangeKind::gossip, name)) continue;
    throw Error(ErrorKind::usage, name + " has no effect on " + std::string(name_of(kind)) + ": " +
                                      std::string(wish.remedy));
  }
}

void check_setting(const std::string& name) {
  check_variables({&name, 1});
  if (name.starts_with(kPrefix) || contains(kOthers, name)) return;
  const std::string meant = upper(name);
  refuse_name(name,
              std::string_view(meant).substr(meant.starts_with(kPrefix) ? kPrefix.size() : 0));
}

}  // namespace fastgpu::comm
