#include "comm/fabric/card.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "comm/common/wire.hpp"

namespace fastgpu::comm::fabric {
namespace {

constexpr std::size_t kMaxProvider = sizeof(FabricOffer::provider) - 1;
constexpr std::size_t kFixed = 1 + 4 + 1 + 1 + 8 + 8 + 1;
static_assert(kFixed + kMaxProvider + kMaxAddress <= kMaxCard);

[[noreturn]] void refuse() {
  throw Error(ErrorKind::remote, "it describes its fabric as no rank of this version does");
}

/// The name of a provider: it is printed.
bool is_plain(std::string_view name) {
  return !name.empty() && name.size() <= kMaxProvider &&
         std::ranges::all_of(name, [](unsigned char c) { return c > ' ' && c < 127; });
}

}  // namespace

std::vector<std::byte> encode(const Card& card) {
  std::vector<std::byte> bytes(kFixed + card.provider.size() + card.address.size());
  WireWriter(bytes)
      .put(static_cast<std::uint8_t>(card.provider.size()))
      .put(std::as_bytes(std::span(card.provider)))
      .put(card.protocol)
      .put(static_cast<std::uint8_t>(card.put))
      .put(static_cast<std::uint8_t>(card.is_hardware))
      .put(card.token)
      .put(card.scope)
      .put(static_cast<std::uint8_t>(card.address.size()))
      .put(card.address);
  return bytes;
}

Card decode_card(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  Card card;
  const auto name = in.get_bytes(in.get<std::uint8_t>());
  std::ranges::transform(name, std::back_inserter(card.provider),
                         [](std::byte c) { return static_cast<char>(c); });
  card.protocol = in.get<std::uint32_t>();
  const auto put = in.get<std::uint8_t>();
  const auto hardware = in.get<std::uint8_t>();
  card.token = in.get<std::uint64_t>();
  card.scope = in.get<std::uint64_t>();
  const auto address = in.get_bytes(in.get<std::uint8_t>());
  card.address.assign(address.begin(), address.end());
  const std::size_t length = kFixed + card.provider.size() + card.address.size();
  if (!is_plain(card.provider) || put >= std::size(kPuts) || hardware > 1 ||
      card.address.size() > kMaxAddress || length != bytes.size())
    refuse();
  card.put = static_cast<Put>(put);
  card.is_hardware = hardware == 1;
  return card;
}

}  // namespace fastgpu::comm::fabric
