#include "comm/fusion/gradient_table.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "comm/common/wire.hpp"
#include "comm/fusion/fingerprint.hpp"

namespace fastgpu::comm {
namespace {

/// The beginning of the names of what the library exchanges of its own among the gradients.
constexpr std::string_view kOwnNames = "fastgpu_comm.";

constexpr std::size_t kLongestName = 65535;
constexpr std::size_t kMostDimensions = 255;
/// 8 TiB of float64: a plan has an entry for each few mebibytes of a gradient.
constexpr std::size_t kMostElements = std::size_t{1} << 40;

[[noreturn]] void refuse(const GradientInfo& info, const std::string& what) {
  throw Error(ErrorKind::usage, "gradient '" + printable(info.name) + "' " + what);
}

std::size_t encoded_bytes(const GradientInfo& info) {
  return 2 + info.name.size() + 1 + 4 + 1 + 8 * info.shape.size();
}

GradientInfo read_info(WireReader& reader) {
  GradientInfo info;
  const auto descriptors = reader.get_bytes(reader.get<std::uint16_t>());
  std::ranges::transform(descriptors, std::back_inserter(info.name),
                         [](std::byte descriptor) { return std::to_integer<char>(descriptor); });
  const auto type = reader.get<std::uint8_t>();
  if (type >= kElementTypes)
    throw Error(ErrorKind::remote, "there is no element type " + std::to_string(type));
  info.type = ElementType{type};
  info.priority = static_cast<std::int32_t>(reader.get<std::uint32_t>());
  info.shape.resize(reader.get<std::uint8_t>());
  for (std::uint64_t& length : info.shape)
    length = reader.get<std::uint64_t>();
  return info;
}

using GradientInfos = std::vector<const GradientInfo*>;

GradientInfos all_of(const GradientTable& table) {
  GradientInfos all;
  for (std::size_t i = 0; i < table.size(); ++i)
    all.push_back(&table[{i}]);
  return all;
}

/// Returns the gradients without those that the library has added.
GradientInfos of_program(const GradientTable& table) {
  GradientInfos own = all_of(table);
  std::erase_if(own, [](const GradientInfo* each) { return each->name.starts_with(kOwnNames); });
  return own;
}

std::optional<std::string> first_difference(const GradientInfos& mine,
                                            const GradientInfos& theirs) {
  const std::size_t both = std::min(mine.size(), theirs.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (*mine[i] == *theirs[i]) continue;
    if (describe(*mine[i]) != describe(*theirs[i]))
      return "gradient number " + std::to_string(i) + " is " + describe(*theirs[i]) + ", not " +
             describe(*mine[i]);
    return "gradient '" + printable(mine[i]->name) + "' has priority " +
           std::to_string(theirs[i]->priority) + ", not " + std::to_string(mine[i]->priority);
  }
  if (mine.size() == theirs.size()) return std::nullopt;
  const GradientInfos& longer = mine.size() > both ? mine : theirs;
  return std::to_string(theirs.size()) + " gradients, not " + std::to_string(mine.size()) + ": " +
         (mine.size() > both ? "missing " : "also ") + describe(*longer[both]);
}

}  // namespace

std::size_t elements_of(const GradientInfo& info) {
  std::size_t count = 1;
  for (const std::uint64_t length : info.shape) {
    if (length != 0 && count > kMostElements / length) refuse(info, "has more than 2^40 elements");
    count *= length;
  }
  return count;
}

GradientId GradientTable::add(GradientInfo info) {
  if (info.name.size() > kLongestName) refuse(info, "has a name of more than 65535 bytes");
  if (info.shape.size() > kMostDimensions) refuse(info, "has more than 255 dimensions");
  const std::size_t elements = elements_of(info);
  if (!by_name_.try_emplace(info.name, size()).second) refuse(info, "is registered already");
  gradients_.push_back(std::move(info));
  elements_.push_back(elements);
  return {size() - 1};
}

std::optional<GradientId> GradientTable::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return GradientId{found->second};
}

std::uint64_t GradientTable::hash() const {
  Fingerprint hash;
  for (const GradientInfo& info : gradients_) {
    hash.add(info.name).add(static_cast<std::uint8_t>(info.type));
    hash.add(static_cast<std::uint32_t>(info.priority));
    hash.add(std::uint64_t{info.shape.size()});
    for (const std::uint64_t length : info.shape)
      hash.add(length);
  }
  return hash.value();
}

std::vector<std::byte> encode(const GradientTable& table) {
  std::size_t bytes = 4;
  for (std::size_t i = 0; i < table.size(); ++i)
    bytes += encoded_bytes(table[{i}]);
  std::vector<std::byte> message(bytes);
  WireWriter writer(message);
  writer.put(static_cast<std::uint32_t>(table.size()));
  for (std::size_t i = 0; i < table.size(); ++i) {
    const GradientInfo& info = table[{i}];
    writer.put(static_cast<std::uint16_t>(info.name.size()));
    writer.put(std::as_bytes(std::span(info.name)));
    writer.put(static_cast<std::uint8_t>(info.type));
    writer.put(static_cast<std::uint32_t>(info.priority));
    writer.put(static_cast<std::uint8_t>(info.shape.size()));
    for (const std::uint64_t length : info.shape)
      writer.put(length);
  }
  return message;
}

GradientTable decode_table(std::span<const std::byte> message) try {
  WireReader reader(message);
  GradientTable table;
  const auto count = reader.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i)
    table.add(read_info(reader));
  return table;
} catch (const Error& e) {
  throw Error(ErrorKind::remote, e.during("reading a table of gradients").what());
}

std::optional<std::string> first_difference(const GradientTable& mine,
                                            const GradientTable& theirs) {
  // The number of the program's own gradients says more than what the library adds for each.
  auto found = first_difference(of_program(mine), of_program(theirs));
  return found ? found : first_difference(all_of(mine), all_of(theirs));
}

std::string describe(const GradientInfo& info) {
  std::string shape;
  for (const std::uint64_t length : info.shape)
    append_item(shape, std::to_string(length));
  return std::string(name_of(info.type)) + " [" + shape + "] '" + printable(info.name) + "'";
}

}  // namespace fastgpu::comm
