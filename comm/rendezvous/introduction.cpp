#include "comm/rendezvous/introduction.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/counted.hpp"
#include "base/names.hpp"
#include "comm/common/wire.hpp"
#include "comm/rendezvous/farewell_error.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kHead = 6;
constexpr std::size_t kMaxAddress = 255;
constexpr std::size_t kCard = kHead + kMaxAddress;
constexpr std::size_t kLack = kCard + 1 + fabric::kMaxCard;
constexpr std::size_t kMaxLack = 255;
constexpr std::size_t kFurther = kLack + 1 + kMaxLack;
constexpr std::size_t kDevices = kFurther + 1 + (kMostInterfaces - 1) * kEndpointBytes;
constexpr std::size_t kCardRoom = 1 + fabric::kMaxCard;
static_assert(kDevices + 1 + (fabric::kMostDevices - 1) * kCardRoom == kIntroductionBytes);
constexpr std::byte kFailed{2};
/// The end of a farewell, which distinguishes it from whatever else a rank may send behind its
/// introduction: this, and the rank.
constexpr std::string_view kFarewell = "fastgpu farewell";
constexpr std::size_t kFarewellEnd = kFarewell.size() + sizeof(std::uint32_t);
static_assert(kIntroductionBytes - kFarewellEnd > kHead + kMaxAddress);

/// Puts the length of some bytes at one place, and the bytes at another.
void put(Introduction& into, std::size_t length_at, std::size_t bytes_at,
         std::span<const std::byte> bytes) {
  into[length_at] = static_cast<std::byte>(bytes.size());
  std::ranges::copy(bytes, into.begin() + static_cast<std::ptrdiff_t>(bytes_at));
}

/// Puts as much of a sentence as there is room for.
void put_text(Introduction& into, std::size_t length_at, std::size_t bytes_at,
              const std::string& text, std::size_t most) {
  put(into, length_at, bytes_at, std::as_bytes(std::span(text).first(std::min(text.size(), most))));
}

std::span<const std::byte> bytes_in(const Introduction& from, std::size_t length_at,
                                    std::size_t bytes_at) {
  return std::span(from).subspan(bytes_at, std::to_integer<std::size_t>(from[length_at]));
}

/// Returns a sentence, safe on a terminal.
std::string text_in(const Introduction& from, std::size_t length_at, std::size_t bytes_at) {
  const auto bytes = bytes_in(from, length_at, bytes_at);
  return printable({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, bytes.size());
}

/// Returns the place of the length of a device's card.
std::size_t place_of_card(std::size_t device) {
  return device == 0 ? kCard : kDevices + 1 + (device - 1) * kCardRoom;
}

}  // namespace

Introduction introduction_of(const Ways& ways, const Wishes& wishes) {
  Introduction mine{};
  mine[1] = static_cast<std::byte>(wishes.flows.value_or(0));
  mine[2] = static_cast<std::byte>(wishes.transport);
  mine[3] = static_cast<std::byte>(wishes.may_measure);
  mine[4] = static_cast<std::byte>(wishes.algorithm ? 1 + static_cast<int>(*wishes.algorithm) : 0);
  mine[5] = static_cast<std::byte>(wishes.collectives);
  put(mine, 0, kHead, ways.address);
  mine[kDevices] = static_cast<std::byte>(ways.cards.size() - 1);
  for (std::size_t device = 0; device < ways.cards.size(); ++device) {
    const std::size_t place = place_of_card(device);
    put(mine, place, place + 1, ways.cards[device]);
  }
  put_text(mine, kLack, kLack + 1, ways.lack, kMaxLack);
  mine[kFurther] = static_cast<std::byte>(wishes.further.size());
  auto place = mine.begin() + kFurther + 1;
  for (const Endpoint& each : wishes.further)
    place = std::ranges::copy(encode(each), place).out;
  return mine;
}

Introduction farewell_of(const Error& reason, Rank rank) {
  Introduction mine{};
  mine[3] = kFailed;
  put_text(mine, 0, kHead, reason.what(), kMaxAddress);
  WireWriter(std::span(mine).last<kFarewellEnd>())
      .put(std::as_bytes(std::span(kFarewell)))
      .put(static_cast<std::uint32_t>(rank.value));
  return mine;
}

std::span<const std::byte> address_in(const Introduction& theirs) {
  return bytes_in(theirs, 0, kHead);
}

int flows_in(const Introduction& theirs) {
  return std::to_integer<int>(theirs[1]);
}

bool may_measure_in(const Introduction& theirs) {
  return theirs[3] != std::byte{};
}

std::span<const std::byte> card_in(const Introduction& from, std::size_t device) {
  return bytes_in(from, place_of_card(device), place_of_card(device) + 1);
}

std::string lack_in(const Introduction& theirs) {
  return text_in(theirs, kLack, kLack + 1);
}

void throw_if_farewell(const Introduction& theirs, Rank from) {
  const auto end = std::span(theirs).last<kFarewellEnd>();
  const auto mark = end.first<kFarewell.size()>();
  if (theirs[3] != kFailed || !std::ranges::equal(mark, std::as_bytes(std::span(kFarewell))))
    return;
  const auto number = WireReader(end.subspan(kFarewell.size())).get<std::uint32_t>();
  const Rank rank = number < kMostRanks ? Rank{static_cast<int>(number)} : from;
  throw FarewellError(Error(ErrorKind::remote, said_by(text_in(theirs, 0, kHead), rank)), rank);
}

void find_farewell(std::span<const std::byte> bytes, Rank from) {
  const auto mark = std::ranges::search(bytes, std::as_bytes(std::span(kFarewell)));
  const auto end = static_cast<std::size_t>(mark.begin() - bytes.begin()) + kFarewellEnd;
  if (mark.empty() || end < kIntroductionBytes || end > bytes.size()) return;
  Introduction message;
  std::ranges::copy(bytes.subspan(end - kIntroductionBytes, kIntroductionBytes), message.begin());
  throw_if_farewell(message, from);
}

std::vector<Endpoint> further_in(const Introduction& theirs, Rank rank,
                                 const std::vector<Endpoint>& mine) {
  const auto count = std::to_integer<std::size_t>(theirs[kFurther]);
  if (count != mine.size())
    throw Error(ErrorKind::usage,
                "rank " + std::to_string(rank.value) + " has " + counted(count + 1, "interface") +
                    " in FASTGPU_COMM_INTERFACE, and this one " + std::to_string(mine.size() + 1) +
                    ": all ranks need the same number");
  std::vector<Endpoint> addresses;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bytes = std::span(theirs).subspan(kFurther + 1 + i * kEndpointBytes, kEndpointBytes);
    auto address = decode_endpoint(bytes);
    if (!address || address->family != mine[i].family)
      throw Error(ErrorKind::usage, "rank " + std::to_string(rank.value) +
                                        " has no usable address on interface number " +
                                        std::to_string(i + 2) + " of FASTGPU_COMM_INTERFACE");
    if (address->is_link_local()) address->zone = mine[i].zone;
    addresses.push_back(*address);
  }
  return addresses;
}

void check_shared_wishes(const Introduction& theirs, Rank rank, const Introduction& mine) {
  constexpr std::pair<std::size_t, const char*> kShared[] = {{2, "FASTGPU_COMM_TRANSPORT"},
                                                             {4, "FASTGPU_COMM_ALGORITHM"},
                                                             {5, "FASTGPU_COMM_COLLECTIVES"}};
  for (const auto& [place, name] : kShared)
    if (theirs[place] != mine[place])
      throw Error(ErrorKind::usage, "rank " + std::to_string(rank.value) + " has another " + name +
                                        ": all ranks need the same");
}

void check_devices(const Introduction& theirs, Rank rank, std::size_t mine) {
  const auto count = std::to_integer<std::size_t>(theirs[kDevices]);
  if (count == mine) return;
  throw Error(ErrorKind::usage, "rank " + std::to_string(rank.value) + " has " +
                                    counted(count + 1, "device") +
                                    " in FASTGPU_COMM_FABRIC_DEVICE, and this one " +
                                    std::to_string(mine + 1) + ": all ranks need the same number");
}

}  // namespace fastgpu::comm
