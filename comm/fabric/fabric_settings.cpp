#include "comm/fabric/fabric_settings.hpp"

#include <algorithm>
#include <tuple>

namespace fastgpu::comm::fabric {
namespace {

/// The providers that are taken unasked, the best first. `net` is what 1.18 and later call `tcp`.
constexpr std::string_view kPreferred[] = {"efa", "verbs;ofi_rxm", "tcp", "net", "tcp;ofi_rxm"};

/// Devices that a provider offers beside those that lead anywhere.
bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

bool is_link_local(std::string_view address) {
  return address.starts_with("fe80:");
}

/// The use of a device's address, the best first. A device of InfiniBand may have an address that
/// is not IP beside one that is, which is better; EFA has no other.
enum class AddressKind : std::uint8_t { near, elsewhere, without_ip, nowhere };

AddressKind way_of(std::string_view address, std::string_view near) {
  if (address.empty()) return AddressKind::without_ip;
  if (address == near) return AddressKind::near;
  return is_loopback(address) || is_link_local(address) ? AddressKind::nowhere
                                                        : AddressKind::elsewhere;
}

/// Returns whether an offer is by that device of the kernel. EFA's is "rdmap0s6-rdm" here.
bool is_of(const FabricOffer& offer, std::string_view device) {
  const std::string_view name = offer.device;
  return !device.empty() && name.starts_with(device) &&
         (name.size() == device.size() || name[device.size()] == '-');
}

/// Lower is better; absent: not taken unasked. Hardware that is not in the list is better than
/// software that is.
std::optional<std::size_t> place_of(const FabricOffer& offer) {
  const std::string_view provider = offer.provider;
  const auto* const found = std::ranges::find(kPreferred, provider);
  constexpr std::size_t kFirstSoftware = 2;
  if (found == std::end(kPreferred))
    return offer.is_hardware != 0 ? std::optional(kFirstSoftware) : std::nullopt;
  const auto index = static_cast<std::size_t>(found - std::begin(kPreferred));
  return index < kFirstSoftware ? index : index + 1;
}

bool is_allowed(const FabricOffer& offer, const FabricSettings& settings) {
  if (!settings.device.empty() && settings.device != offer.device) return false;
  if (!settings.provider.empty()) return is_meant(offer.provider, settings.provider);
  return offer.is_hardware != 0 || (settings.need == FabricNeed::must && place_of(offer));
}

}  // namespace

std::string_view name_of(Put put) noexcept {
  switch (put) {
    case Put::none:
      return "none";
    case Put::with_data:
      return "a";
    case Put::then_send:
      return "b";
    case Put::delivered:
      return "c";
  }
  return "none";
}

std::optional<Put> put_named(std::string_view name) noexcept {
  for (const Put put : kPuts)
    if (name_of(put) == name) return put;
  return std::nullopt;
}

bool is_asked_for(const FabricSettings& settings) noexcept {
  return settings.need == FabricNeed::must ||
         (settings.need == FabricNeed::welcome &&
          (!settings.provider.empty() || !settings.device.empty()));
}

bool is_meant(std::string_view provider, std::string_view wanted) noexcept {
  return provider == wanted || provider.substr(0, provider.find(';')) == wanted;
}

std::optional<std::size_t> choose(std::span<const FabricOffer> offers,
                                  const FabricSettings& settings, std::string_view near,
                                  std::string_view nearest) {
  using Rating = std::tuple<bool, std::size_t, AddressKind, bool, std::size_t>;
  std::optional<Rating> best;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const FabricOffer& offer = offers[i];
    if (!is_allowed(offer, settings)) continue;
    // Other providers may be layered over the one that is named: its own name is better.
    const bool is_layered = !settings.provider.empty() && settings.provider != offer.provider;
    const Rating rating{is_layered, place_of(offer).value_or(SIZE_MAX), way_of(offer.address, near),
                        !is_of(offer, nearest), i};
    if (!best || rating < *best) best = rating;
  }
  if (!best) return std::nullopt;
  return std::get<4>(*best);
}

bool can(const FabricOffer& offer, Put put) noexcept {
  constexpr std::uint8_t kDataBytes = sizeof(std::uint32_t);
  switch (put) {
    case Put::none:
      return true;
    case Put::with_data:
      return offer.has_writes != 0 && offer.data_bytes >= kDataBytes;
    case Put::then_send:
      return offer.has_writes != 0 && offer.orders_sends != 0;
    case Put::delivered:
      return offer.has_writes != 0 && offer.reports_delivery != 0;
  }
  return false;
}

Put best_put(const FabricOffer& offer, std::uint32_t library_version) noexcept {
  constexpr std::uint32_t kWritesByDevice = 118;  // Before, efa makes messages of writes itself.
  if (std::string_view(offer.provider) == "efa" && library_version < kWritesByDevice)
    return Put::none;
  // With 1.17 ofi_rxm crashes over tcp if a write that carries data is cut off.
  const bool may_carry_data = std::string_view(offer.provider) != "tcp;ofi_rxm";
  for (const Put put : {Put::with_data, Put::then_send, Put::delivered})
    if (can(offer, put) && (put != Put::with_data || may_carry_data)) return put;
  return Put::none;
}

}  // namespace fastgpu::comm::fabric
