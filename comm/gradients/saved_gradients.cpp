#include "comm/gradients/saved_gradients.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_set>

#include "base/error.hpp"
#include "comm/common/wire.hpp"
#include "comm/fusion/seal.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint32_t kGradientsMagic = 0x66676373;  ///< "fgcs", as up to format 4.
constexpr std::uint8_t kGradientsFormat = 5;
constexpr std::size_t kGradientsHead = 4 + 1 + 1 + 4;
constexpr std::size_t kNameHead = 2;

[[noreturn]] void refuse_gradients(const std::string& what) {
  throw Error(ErrorKind::usage, "a saved state of gradients is damaged: " + what);
}

void check_gradients_head(WireReader& reader) {
  if (reader.get<std::uint32_t>() != kGradientsMagic) refuse_gradients("it does not begin as one");
  const auto format = reader.get<std::uint8_t>();
  if (format != kGradientsFormat)
    throw Error(ErrorKind::usage, "a saved state of gradients has format " +
                                      std::to_string(format) + ": this library reads format " +
                                      std::to_string(kGradientsFormat));
}

std::vector<std::string> read_names(WireReader& reader) {
  const auto count = reader.get<std::uint32_t>();
  if (count > reader.left() / kNameHead) refuse_gradients("it ends too early");
  std::vector<std::string> names(count);
  std::unordered_set<std::string> seen;
  for (std::string& name : names) {
    const auto bytes = reader.get_bytes(reader.get<std::uint16_t>());
    name.resize(bytes.size());
    if (!bytes.empty()) std::memcpy(name.data(), bytes.data(), bytes.size());
    if (!seen.insert(name).second) refuse_gradients("its order has a gradient twice");
  }
  return names;
}

}  // namespace

std::vector<std::byte> encode(const SavedGradients& state) {
  std::size_t bytes = kGradientsHead + state.codec.size() + kSealBytes;
  const std::vector<std::string> names = state.order.value_or(std::vector<std::string>{});
  for (const std::string& name : names)
    bytes += kNameHead + name.size();
  std::vector<std::byte> all(bytes);
  WireWriter writer(all);
  writer.put(kGradientsMagic).put(kGradientsFormat);
  writer.put(static_cast<std::uint8_t>(state.order ? 1 : 0));
  writer.put(static_cast<std::uint32_t>(names.size()));
  for (const std::string& name : names)
    writer.put(static_cast<std::uint16_t>(name.size())).put(std::as_bytes(std::span(name)));
  writer.put(state.codec);
  seal(all);
  return all;
}

SavedGradients decode_gradients(std::span<const std::byte> bytes) try {
  if (bytes.empty()) return {};
  WireReader reader(without_seal(bytes));
  check_gradients_head(reader);
  SavedGradients state;
  const bool has_order = reader.get<std::uint8_t>() != 0;
  std::vector<std::string> names = read_names(reader);
  if (has_order) state.order = std::move(names);
  state.codec = reader.get_bytes(reader.left());
  if (!has_seal(bytes)) refuse_gradients("its numbers have changed");
  return state;
} catch (const Error& e) {
  if (e.kind() != ErrorKind::remote) throw;
  refuse_gradients("it ends too early");
}

std::vector<std::string> names_in_order(const GradientTable& table,
                                        std::span<const GradientId> order) {
  std::vector<std::string> names;
  for (const GradientId id : order)
    names.push_back(table[id].name);
  return names;
}

std::optional<std::vector<GradientId>> order_of_names(
    const GradientTable& table, const std::optional<std::vector<std::string>>& names) {
  if (!names || names->size() != table.size()) return std::nullopt;
  std::vector<GradientId> order;
  for (const std::string& name : *names) {
    const auto id = table.find(name);
    if (!id) return std::nullopt;
    order.push_back(*id);
  }
  return order;
}

}  // namespace fastgpu::comm
