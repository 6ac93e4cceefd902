#include "comm/gossip/gossip_state.hpp"

#include <bit>
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "comm/common/wire.hpp"
#include "comm/fusion/fingerprint.hpp"
#include "comm/fusion/seal.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint32_t kGossipMagic = 0x66676770;  ///< "fggp"
constexpr std::uint8_t kGossipFormat = 4;
constexpr std::size_t kFixed =
    sizeof(SharedOfGossip) + kSealBytes + (4 + 1 + 4 + 4 + 8 + 16 + 8 + 24 + 8 + 3 + 16);

[[noreturn]] void refuse_state(const std::string& what) {
  throw Error(ErrorKind::usage, "a saved state of gossip is damaged: " + what);
}

void put(WireWriter& writer, double value) {
  writer.put(std::bit_cast<std::uint64_t>(value));
}

double get_finite(WireReader& reader) {
  const auto value = std::bit_cast<double>(reader.get<std::uint64_t>());
  if (!std::isfinite(value)) refuse_state("a number is not finite");
  return value;
}

/// Returns the length of a list. Throws if the bytes cannot hold it.
std::size_t get_length(WireReader& reader, std::size_t most) {
  const auto length = reader.get<std::uint64_t>();
  if (length > most) refuse_state("it ends too early");
  return length;
}

bool get_flag(WireReader& reader) {
  const auto value = reader.get<std::uint8_t>();
  if (value > 1) refuse_state("a flag is " + std::to_string(value));
  return value == 1;
}

template <std::size_t count>
std::optional<std::array<double, count>> get_sums(WireReader& reader) {
  if (!get_flag(reader)) return std::nullopt;
  std::array<double, count> sums;
  for (double& sum : sums)
    sum = get_finite(reader);
  return sums;
}

template <std::size_t count>
void put(WireWriter& writer, const std::optional<std::array<double, count>>& sums) {
  writer.put(static_cast<std::uint8_t>(sums.has_value()));
  if (!sums) return;
  for (const double sum : *sums)
    put(writer, sum);
}

std::size_t bytes_of(const SavedGossip& saved) {
  const std::size_t doubles = (saved.sums ? saved.sums->size() : 0) +
                              (saved.noted ? saved.noted->size() : 0) + saved.weights.size();
  return kFixed + doubles * sizeof(double) + saved.numbers.size() * sizeof(float);
}

}  // namespace

std::uint64_t number_of(const GuardState& state) {
  return Fingerprint()
      .add(std::uint64_t{state.rung})
      .add(std::bit_cast<std::uint64_t>(state.distance))
      .add(std::bit_cast<std::uint64_t>(state.movement))
      .add(std::bit_cast<std::uint64_t>(state.alignment))
      .add(state.calm)
      .add(state.patience)
      .value();
}

std::vector<std::byte> encode(const SavedGossip& saved) {
  std::vector<std::byte> bytes(bytes_of(saved));
  WireWriter writer(bytes);
  writer.put(kGossipMagic).put(kGossipFormat);
  writer.put(static_cast<std::uint32_t>(saved.rank)).put(static_cast<std::uint32_t>(saved.ranks));
  writer.put(saved.registration);
  for (const std::uint64_t number : saved.settings)
    writer.put(number);
  writer.put(saved.step).put(saved.measured);
  writer.put(std::uint64_t{saved.guard.rung});
  put(writer, saved.guard.distance);
  put(writer, saved.guard.movement);
  put(writer, saved.guard.alignment);
  writer.put(saved.guard.calm).put(saved.guard.patience);
  writer.put(static_cast<std::uint8_t>(saved.is_exact_next));
  put(writer, saved.sums);
  put(writer, saved.noted);
  writer.put(std::uint64_t{saved.numbers.size()});
  for (const float number : saved.numbers)
    writer.put(std::bit_cast<std::uint32_t>(number));
  writer.put(std::uint64_t{saved.weights.size()});
  for (const double weight : saved.weights)
    put(writer, weight);
  seal(bytes);
  return bytes;
}

SavedGossip decode_gossip(std::span<const std::byte> bytes) try {
  WireReader reader(without_seal(bytes));
  if (reader.get<std::uint32_t>() != kGossipMagic) refuse_state("it does not begin as one");
  const auto format = reader.get<std::uint8_t>();
  if (format != kGossipFormat)
    throw Error(ErrorKind::usage, "a saved state of gossip has format " + std::to_string(format) +
                                      ": this library reads format " +
                                      std::to_string(kGossipFormat));
  SavedGossip saved;
  saved.rank = static_cast<int>(reader.get<std::uint32_t>() & 0x7fffffffU);
  saved.ranks = static_cast<int>(reader.get<std::uint32_t>() & 0x7fffffffU);
  saved.registration = reader.get<std::uint64_t>();
  for (std::uint64_t& number : saved.settings)
    number = reader.get<std::uint64_t>();
  saved.step = reader.get<std::uint64_t>();
  saved.measured = reader.get<std::uint64_t>();
  saved.guard.rung = reader.get<std::uint64_t>();
  saved.guard.distance = get_finite(reader);
  saved.guard.movement = get_finite(reader);
  saved.guard.alignment = get_finite(reader);
  saved.guard.calm = reader.get<std::uint32_t>();
  saved.guard.patience = reader.get<std::uint32_t>();
  saved.is_exact_next = get_flag(reader);
  saved.sums = get_sums<DistanceMeter::kSums>(reader);
  saved.noted = get_sums<kSketchSums>(reader);
  saved.numbers.resize(get_length(reader, bytes.size() / sizeof(float)));
  for (float& number : saved.numbers) {
    number = std::bit_cast<float>(reader.get<std::uint32_t>());
    if (!std::isfinite(number)) refuse_state("a number is not finite");
  }
  saved.weights.resize(get_length(reader, bytes.size() / sizeof(double)));
  for (double& weight : saved.weights) {
    weight = get_finite(reader);
    if (!(weight > 0)) refuse_state("a weight is not above 0");
  }
  if (bytes.size() != bytes_of(saved)) refuse_state("more follows after its end");
  if (!has_seal(bytes)) refuse_state("its numbers have changed");
  return saved;
} catch (const Error& e) {
  if (e.kind() != ErrorKind::remote) throw;
  refuse_state("it ends too early");
}

}  // namespace fastgpu::comm
