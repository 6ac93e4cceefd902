#include "comm/gradients/codec_state.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/common/wire.hpp"
#include "comm/fusion/seal.hpp"
#include "comm/kernels/kernels.hpp"
#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint32_t kMagic = 0x66676373;  ///< "fgcs"
constexpr std::uint8_t kFormat = 4;
constexpr std::size_t kHeader = 4 + 1 + 4 + 4 + 8 + 4;
constexpr std::size_t kStretchHeader = 8 + 8;
constexpr std::size_t kMemoryHeader = 8 + 8 + 8;

std::size_t gradient_header(const GradientInfo& info) noexcept {
  return 2 + info.name.size() + 8 + 4 + 8 + 8 + 4;
}

std::string text_of(std::span<const std::byte> bytes) {
  std::string text;
  std::ranges::transform(bytes, std::back_inserter(text),
                         [](std::byte byte) { return std::to_integer<char>(byte); });
  return text;
}

std::optional<GradientId> find_gradient(const GradientTable& table, const std::string& name,
                                        std::uint64_t elements) {
  const auto id = table.find(name);
  return id && table.elements(*id) == elements ? id : std::nullopt;
}

[[noreturn]] void refuse_damaged(const std::string& what) {
  throw Error(ErrorKind::usage, "a saved state of gradients is damaged: " + what);
}

std::vector<float> read_values(WireReader& reader, std::uint64_t count, std::size_t most) {
  if (count > most / sizeof(float)) refuse_damaged("it ends too early");
  std::vector<float> values(count);
  for (float& value : values) {
    value = std::bit_cast<float>(reader.get<std::uint32_t>());
    if (!std::isfinite(value)) refuse_damaged("a number is not finite");
  }
  return values;
}

void write_values(WireWriter& writer, std::span<const float> values) {
  for (const float value : values)
    writer.put(std::bit_cast<std::uint32_t>(value));
}

void write_memories(WireWriter& writer, std::span<const CodeMemory> memories) {
  writer.put(static_cast<std::uint32_t>(memories.size()));
  for (const CodeMemory& memory : memories) {
    writer.put(std::uint64_t{memory.first}).put(memory.group).put(std::uint64_t{memory.own.size()});
    write_values(writer, memory.own);
    write_values(writer, memory.sum);
  }
}

std::vector<CodeMemory> read_memories(WireReader& reader, std::uint64_t elements,
                                      std::size_t most) {
  std::vector<CodeMemory> memories;
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
    const auto first = reader.get<std::uint64_t>();
    const auto group = reader.get<std::uint64_t>();
    const auto count = reader.get<std::uint64_t>();
    if (first > elements || count > elements - first || count == 0)
      refuse_damaged("a memory begins at " + std::to_string(first) + " of " +
                     std::to_string(elements) + " elements");
    std::vector<float> own = read_values(reader, count, most);
    std::vector<float> sum = read_values(reader, count, most);
    memories.push_back({first, group, std::move(own), std::move(sum)});
  }
  return memories;
}

/// Reads the first part of a state. Throws for another format, rank or number of ranks.
void check_head(WireReader& reader, Rank rank, int ranks) {
  if (reader.get<std::uint32_t>() != kMagic) refuse_damaged("it does not begin as one");
  const auto format = reader.get<std::uint8_t>();
  if (format != kFormat)
    throw Error(ErrorKind::usage, "a saved state of gradients has format " +
                                      std::to_string(format) + ": this library reads format " +
                                      std::to_string(kFormat));
  const auto owner = reader.get<std::uint32_t>();
  const auto owners = reader.get<std::uint32_t>();
  if (owner != static_cast<std::uint32_t>(rank.value) ||
      owners != static_cast<std::uint32_t>(ranks))
    throw Error(ErrorKind::usage, "a saved state of gradients is that of rank " +
                                      std::to_string(owner) + " of " + std::to_string(owners) +
                                      ", not of rank " + std::to_string(rank.value) + " of " +
                                      std::to_string(ranks) +
                                      ": what it has not sent yet would be lost, or "
                                      "count twice");
}

}  // namespace

void CodecState::add_to(GradientId id, std::size_t first, std::span<float> values) const {
  for (const Stretch& stretch : of_[id.value]) {
    const std::size_t begin = std::max(first, stretch.first);
    const std::size_t end = std::min(first + values.size(), stretch.end());
    if (begin >= end) continue;
    const std::span<const float> kept(stretch.values);
    reduce_into(std::as_writable_bytes(values.subspan(begin - first, end - begin)),
                std::as_bytes(kept.subspan(begin - stretch.first, end - begin)),
                {ElementType::float32, ReduceOp::sum});
  }
}

/// Takes out what is in [first, end).
void CodecState::cut(Stretches& stretches, std::size_t first, std::size_t end) {
  Stretches rest;
  for (Stretch& each : stretches) {
    if (each.end() <= first || each.first >= end) {
      rest.push_back(std::move(each));
      continue;
    }
    const auto begin = each.values.begin();
    const auto offset = [&](std::size_t at) {
      return static_cast<std::ptrdiff_t>(at - each.first);
    };
    if (each.first < first)
      rest.push_back({each.first, std::vector<float>(begin, begin + offset(first))});
    if (each.end() > end)
      rest.push_back({end, std::vector<float>(begin + offset(end), each.values.end())});
  }
  stretches = std::move(rest);
}

void CodecState::replace(const GradientPiece& piece, std::size_t first,
                         std::span<const float> kept) {
  Stretches& stretches = of_[piece.gradient.value];
  const std::size_t end = piece.first + piece.count;
  const auto overlaps = [&](const Stretch& each) {
    return each.first < end && each.end() > piece.first;
  };
  const auto known = std::ranges::find_if(stretches, overlaps);
  const bool is_as_before = known != stretches.end() && known->first == first &&
                            known->values.size() == kept.size() &&
                            std::none_of(known + 1, stretches.end(), overlaps);
  if (is_as_before) {
    std::ranges::copy(kept, known->values.begin());
    return;
  }
  if (known != stretches.end()) cut(stretches, piece.first, end);
  if (kept.empty()) return;
  const auto place =
      std::ranges::find_if(stretches, [&](const Stretch& each) { return each.first > first; });
  stretches.insert(place, Stretch{first, std::vector<float>(kept.begin(), kept.end())});
}

void CodecState::add_velocity(GradientId id, std::size_t elements, std::size_t first,
                              std::span<float> values, float momentum) {
  Velocity& velocity = velocities_[id.value];
  velocity.next.resize(elements);
  velocity.has_next = true;
  if (!velocity.now.empty())
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += momentum * velocity.now[first + i];
  std::ranges::copy(values, velocity.next.begin() + static_cast<std::ptrdiff_t>(first));
}

void CodecState::keep_velocities(const GradientSet& applied) {
  for (std::size_t i = 0; i < velocities_.size(); ++i) {
    Velocity& velocity = velocities_[i];
    if (!velocity.has_next || !applied.contains({i})) continue;
    kernels().drop_non_finite(velocity.next.data(), velocity.next.size());
    velocity.now.swap(velocity.next);
  }
}

const CodeMemory* CodecState::memory_like(GradientId id, const CodeMemory& other) const noexcept {
  const std::vector<CodeMemory>& kept = memories_[id.value];
  const auto found = std::ranges::find_if(kept, [&](const CodeMemory& each) {
    return each.first == other.first && each.group == other.group &&
           each.own.size() == other.own.size();
  });
  return found == kept.end() ? nullptr : &*found;
}

void CodecState::drop_memories() {
  for (std::vector<CodeMemory>& each : memories_)
    each.clear();
}

std::size_t CodecState::saved_bytes(const GradientTable& table) const {
  std::size_t bytes = kHeader + kSealBytes;
  for (std::size_t i = 0; i < of_.size(); ++i) {
    if (!keeps(i)) continue;
    bytes += gradient_header(table[{i}]) +
             (factors_[i].size() + velocities_[i].now.size()) * sizeof(float);
    for (const CodeMemory& each : memories_[i])
      bytes += kMemoryHeader + 2 * each.own.size() * sizeof(float);
    for (const Stretch& each : of_[i])
      bytes += kStretchHeader + each.values.size() * sizeof(float);
  }
  return bytes;
}

std::vector<std::byte> CodecState::saved(const GradientTable& table, Rank rank, int ranks) const {
  std::uint32_t gradients = 0;
  for (std::size_t i = 0; i < of_.size(); ++i)
    gradients += keeps(i) ? 1 : 0;
  std::vector<std::byte> state(saved_bytes(table));
  WireWriter writer(state);
  writer.put(kMagic).put(kFormat);
  writer.put(static_cast<std::uint32_t>(rank.value)).put(static_cast<std::uint32_t>(ranks));
  writer.put(steps_).put(gradients);
  for (std::size_t i = 0; i < of_.size(); ++i) {
    if (!keeps(i)) continue;
    const GradientInfo& info = table[{i}];
    writer.put(static_cast<std::uint16_t>(info.name.size()));
    writer.put(std::as_bytes(std::span(info.name)));
    writer.put(std::uint64_t{table.elements({i})});
    writer.put(static_cast<std::uint32_t>(of_[i].size()));
    for (const Stretch& each : of_[i]) {
      writer.put(std::uint64_t{each.first}).put(std::uint64_t{each.values.size()});
      write_values(writer, each.values);
    }
    writer.put(std::uint64_t{factors_[i].size()});
    write_values(writer, factors_[i]);
    writer.put(std::uint64_t{velocities_[i].now.size()});
    write_values(writer, velocities_[i].now);
    write_memories(writer, memories_[i]);
  }
  seal(state);
  return state;
}

void CodecState::load(std::span<const std::byte> saved, const GradientTable& table, Rank rank,
                      int ranks) try {
  WireReader reader(without_seal(saved));
  check_head(reader, rank, ranks);
  CodecState loaded;
  loaded.steps_ = reader.get<std::uint64_t>();
  loaded.resize(table.size());
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
    const std::string name = text_of(reader.get_bytes(reader.get<std::uint16_t>()));
    const auto elements = reader.get<std::uint64_t>();
    Stretches stretches;
    for (auto more = reader.get<std::uint32_t>(); more > 0; --more) {
      const auto first = reader.get<std::uint64_t>();
      const auto count = reader.get<std::uint64_t>();
      const std::uint64_t least = stretches.empty() ? 0 : stretches.back().end();
      if (first < least || first > elements || count > elements - first || count == 0)
        refuse_damaged("gradient '" + printable(name) + "' has no elements " +
                       std::to_string(first) + " and following");
      stretches.push_back({first, read_values(reader, count, saved.size())});
    }
    std::vector<float> factor = read_values(reader, reader.get<std::uint64_t>(), saved.size());
    std::vector<float> velocity = read_values(reader, reader.get<std::uint64_t>(), saved.size());
    if (!velocity.empty() && velocity.size() != elements)
      refuse_damaged("gradient '" + printable(name) + "' has " + std::to_string(elements) +
                     " elements, and a velocity of " + std::to_string(velocity.size()));
    std::vector<CodeMemory> memories = read_memories(reader, elements, saved.size());
    const auto id = find_gradient(table, name, elements);
    if (!id) continue;
    loaded.velocities_[id->value].now = std::move(velocity);
    loaded.memories_[id->value] = std::move(memories);
    loaded.of_[id->value] = std::move(stretches);
    loaded.factors_[id->value] = std::move(factor);
  }
  if (reader.left() > 0) refuse_damaged("more follows after its end");
  if (!has_seal(saved)) refuse_damaged("its numbers have changed");
  *this = std::move(loaded);
} catch (const Error& e) {
  if (e.kind() != ErrorKind::remote) throw;
  refuse_damaged("it ends too early");
}

}  // namespace fastgpu::comm
