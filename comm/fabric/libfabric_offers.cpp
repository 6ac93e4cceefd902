#include "comm/fabric/libfabric_offers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/fabric_providers.hpp"

namespace fastgpu::comm::fabric {
namespace {

constexpr std::uint32_t kVersion = FI_VERSION(1, 17);
constexpr std::uint64_t kCore = FI_MSG | FI_TAGGED;
constexpr std::uint64_t kMemoryModes =
    FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;

template <std::size_t room>
void copy_text(char (&into)[room], const char* text) {
  if (text != nullptr) std::strncpy(into, text, room - 1);
}

template <std::size_t room>
void copy_address(char (&into)[room], const fi_info& info) {
  if (info.src_addr == nullptr) return;
  if (info.addr_format == FI_SOCKADDR_IN && info.src_addrlen >= sizeof(sockaddr_in))
    ::inet_ntop(AF_INET, &static_cast<const sockaddr_in*>(info.src_addr)->sin_addr, into, room);
  if (info.addr_format == FI_SOCKADDR_IN6 && info.src_addrlen >= sizeof(sockaddr_in6))
    ::inet_ntop(AF_INET6, &static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr, into, room);
}

bool is_hardware(const fi_info& info) {
  return !is_software_provider(info.fabric_attr->prov_name);
}

FabricOffer offer_of(const fi_info& info) {
  FabricOffer offer;
  copy_text(offer.provider, info.fabric_attr->prov_name);
  copy_text(offer.device, info.domain_attr->name);
  copy_address(offer.address, info);
  offer.protocol = info.ep_attr->protocol;
  offer.is_hardware = is_hardware(info) ? 1 : 0;
  offer.has_writes = (info.caps & FI_RMA) != 0 ? 1 : 0;
  offer.takes_device_memory = (info.caps & FI_HMEM) != 0 ? 1 : 0;
  offer.data_bytes =
      static_cast<std::uint8_t>(std::min<std::size_t>(info.domain_attr->cq_data_size, 8));
  const std::uint64_t order = info.tx_attr->msg_order & info.rx_attr->msg_order;
  offer.orders_sends = (order & FI_ORDER_SAW) != 0 ? 1 : 0;
  return offer;
}

bool is_same(const FabricOffer& a, const FabricOffer& b) {
  return std::strcmp(a.provider, b.provider) == 0 && std::strcmp(a.device, b.device) == 0 &&
         std::strcmp(a.address, b.address) == 0 && a.protocol == b.protocol;
}

/// The demands of one search.
struct Wish {
  std::uint64_t caps = 0;
  std::uint64_t order = 0;
  std::uint64_t operation_flags = 0;
};

fi_info* look(const char* provider, const Wish& wish) {
  fi_info* const hints = ::fi_allocinfo();
  if (hints == nullptr) return nullptr;
  hints->caps = wish.caps;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  const bool has_devices = (wish.caps & FI_HMEM) != 0;
  hints->domain_attr->mr_mode =
      static_cast<int>(kMemoryModes | (has_devices ? std::uint64_t{FI_MR_HMEM} : 0));
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->msg_order = wish.order;
  hints->rx_attr->msg_order = wish.order;
  hints->tx_attr->op_flags = wish.operation_flags;
  if (provider != nullptr) hints->fabric_attr->prov_name = ::strdup(provider);
  fi_info* found = nullptr;
  if (::fi_getinfo(kVersion, nullptr, nullptr, 0, hints, &found) != 0) found = nullptr;
  ::fi_freeinfo(hints);
  return found;
}

/// Adds what is not there yet: the first look that finds it asked for most.
void add_found(Offers& offers, const char* provider, Wish wish) {
  fi_info* const found = look(provider, wish);
  wish.operation_flags = FI_DELIVERY_COMPLETE;
  fi_info* const delivering = look(provider, wish);
  for (const fi_info* info = found; info != nullptr; info = info->next) {
    FabricOffer offer = offer_of(*info);
    const auto is_it = [&](const auto& known) { return is_same(known.offer, offer); };
    if (std::any_of(offers.all.begin(), offers.all.end(), is_it)) continue;
    for (const fi_info* other = delivering; other != nullptr; other = other->next)
      if (is_same(offer_of(*other), offer)) offer.reports_delivery = 1;
    fi_info* const own = ::fi_dupinfo(info);
    if (own == nullptr) continue;
    offers.all.push_back({offer, {own, ::fi_freeinfo}});
  }
  ::fi_freeinfo(found);
  ::fi_freeinfo(delivering);
}

}  // namespace

int find(const FabricSearch* search, Offers** found) try {
  // The default of ofi_rxm makes queues that are longer than some devices can have.
  ::setenv("FI_UNIVERSE_SIZE", std::to_string(std::max(search->ranks, 4)).c_str(), 0);
  auto offers = std::make_unique<Offers>();
  constexpr std::uint64_t kWrites = kCore | FI_RMA;
  constexpr std::uint64_t kSends = FI_ORDER_SAS;
  constexpr std::uint64_t kSendsAfterWrites = FI_ORDER_SAS | FI_ORDER_SAW;
  constexpr std::uint64_t kDeviceMemory = FI_HMEM;
  for (const std::uint64_t caps :
       {kWrites | kDeviceMemory, kWrites, kCore | kDeviceMemory, kCore}) {
    if ((caps & kDeviceMemory) != 0 && search->wants_device_memory == 0) continue;
    for (const std::uint64_t order : {kSendsAfterWrites, kSends})
      add_found(*offers, search->provider, {caps, order});
  }
  *found = offers.release();
  return 0;
} catch (...) {
  return FI_ENOMEM;
}

std::size_t count(const Offers* offers) {
  return offers->all.size();
}

const FabricOffer* offer(const Offers* offers, std::size_t index) {
  return &offers->all[index].offer;
}

void forget(Offers* offers) {
  delete offers;
}

}  // namespace fastgpu::comm::fabric
