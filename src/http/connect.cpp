#include "http/connect.hpp"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <span>

#include "base/c_handle.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "http/proxy.hpp"
#include "http/urls.hpp"

namespace fastgpu::http {
namespace {

using Easy = CHandle<CURL, curl_easy_cleanup>;

struct Range {
  std::uint32_t base;
  unsigned bits;
};

/// IANA's registry of special-purpose addresses.
constexpr std::array kNotPublic = {
    Range{0x00000000, 8},  Range{0x0a000000, 8},  Range{0x64400000, 10}, Range{0x7f000000, 8},
    Range{0xa9fe0000, 16}, Range{0xac100000, 12}, Range{0xc0000000, 24}, Range{0xc0a80000, 16},
    Range{0xc6120000, 15}, Range{0xe0000000, 4},  Range{0xf0000000, 4}};
constexpr std::array kMetadata = {Range{0xa9fe0000, 16},   // Link-local.
                                  Range{0x646464c8, 32},   // 100.100.100.200: Alibaba Cloud.
                                  Range{0xa83f8110, 32}};  // 168.63.129.16: Azure.
/// fd00:ec2::254 of AWS, fd20:ce::254 of Google Cloud.
constexpr std::array<std::array<std::uint8_t, 16>, 2> kMetadataV6 = {
    {{0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54},
     {0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}}};

bool is_in(std::uint32_t address, const Range& range) {
  return address >> (32 - range.bits) == range.base >> (32 - range.bits);
}

std::uint32_t number_of(const std::uint8_t* bytes) {
  std::uint32_t number = 0;
  for (int i = 0; i < 4; ++i)
    number = number << 8U | bytes[i];
  return number;
}

/// Returns the IPv4 address in a socket address: plain, mapped, or translated (64:ff9b::/96).
std::optional<std::uint32_t> ipv4_of(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
  if (address.sa_family != AF_INET6) return std::nullopt;
  const std::uint8_t* const bytes =
      reinterpret_cast<const sockaddr_in6&>(address).sin6_addr.s6_addr;
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr std::array<std::uint8_t, 12> kTranslated = {0, 0x64, 0xff, 0x9b};
  for (const auto& prefix : {kMapped, kTranslated})
    if (std::equal(prefix.begin(), prefix.end(), bytes)) return number_of(bytes + prefix.size());
  return std::nullopt;
}

/// Returns true if the list of no_proxy contains the host, a domain above it, or "*".
bool is_excepted(std::string_view host, std::string_view list) {
  while (!list.empty()) {
    const auto end = std::min(list.find_first_of(", "), list.size());
    std::string_view one = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (one == "*") return true;
    while (one.starts_with('.'))
      one.remove_prefix(1);
    if (one.empty() || host.size() < one.size()) continue;
    const bool ends_so = same_word(host.substr(host.size() - one.size()), one);
    if (ends_so && (host.size() == one.size() || host[host.size() - one.size() - 1] == '.'))
      return true;
  }
  return false;
}

/// The state of one connection, for libcurl's callbacks.
struct Attempt {
  const Cancel* cancel;
  Addresses addresses;
  bool checks = true;  // True if the address is the host's and not a proxy's.
  bool refused = false;
  bool is_public = true;
};

extern "C" curl_socket_t open_socket(void* context, curlsocktype, curl_sockaddr* address) noexcept {
  auto& attempt = *static_cast<Attempt*>(context);
  if (attempt.checks) {
    attempt.is_public = is_public_address(address->addr);
    if (is_metadata_address(address->addr) ||
        (attempt.addresses == Addresses::public_only && !attempt.is_public)) {
      attempt.refused = true;
      return CURL_SOCKET_BAD;
    }
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

extern "C" int ends_early(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
  return static_cast<Attempt*>(context)->cancel->requested() ? 1 : 0;
}

void prepare(CURL* transfer, const Destination& to, const Proxy& proxy, Attempt& attempt) {
  const bool is_v6 = to.host.find(':') != std::string::npos && !to.host.starts_with('[');
  const std::string url =
      "http://" + (is_v6 ? "[" + to.host + "]" : to.host) + ":" + std::to_string(to.port) + "/";
  curl_easy_setopt(transfer, CURLOPT_URL, url.c_str());
  curl_easy_setopt(transfer, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(transfer, CURLOPT_HTTPPROXYTUNNEL, 1L);
  curl_easy_setopt(transfer, CURLOPT_PROXY, proxy.url.c_str());
  curl_easy_setopt(transfer, CURLOPT_NOPROXY, proxy.except.c_str());
  curl_easy_setopt(transfer, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(transfer, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(transfer, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(transfer, CURLOPT_OPENSOCKETDATA, &attempt);
  curl_easy_setopt(transfer, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(transfer, CURLOPT_XFERINFOFUNCTION, ends_early);
  curl_easy_setopt(transfer, CURLOPT_XFERINFODATA, &attempt);
}

/// Returns true if the host is itself such an address, in any spelling. A proxy would connect to
/// it.
bool is_metadata_literal(const std::string& host) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (::inet_aton(host.c_str(), &v4.sin_addr) != 0)
    return is_metadata_address(reinterpret_cast<const sockaddr&>(v4));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  const std::string plain = host.substr(0, host.find('%'));
  return ::inet_pton(AF_INET6, plain.c_str(), &v6.sin6_addr) == 1 &&
         is_metadata_address(reinterpret_cast<const sockaddr&>(v6));
}

std::string named(const Destination& to) {
  return printable(to.host, 100) + ":" + std::to_string(to.port);
}

}  // namespace

bool is_public_address(const sockaddr& address) noexcept {
  if (const auto v4 = ipv4_of(address))
    return std::ranges::none_of(kNotPublic, [&](const Range& one) { return is_in(*v4, one); });
  if (address.sa_family != AF_INET6) return false;
  const std::uint8_t* const bytes =
      reinterpret_cast<const sockaddr_in6&>(address).sin6_addr.s6_addr;
  return (bytes[0] & 0xe0U) == 0x20;  // Only 2000::/3 is allocated.
}

bool is_metadata_address(const sockaddr& address) noexcept {
  if (const auto v4 = ipv4_of(address))
    return std::ranges::any_of(kMetadata, [&](const Range& one) { return is_in(*v4, one); });
  if (address.sa_family != AF_INET6) return false;
  const std::uint8_t* const bytes =
      reinterpret_cast<const sockaddr_in6&>(address).sin6_addr.s6_addr;
  const bool is_link_local = bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80;
  return is_link_local || std::ranges::any_of(kMetadataV6, [&](const auto& one) {
           return std::ranges::equal(one, std::span(bytes, one.size()));
         });
}

Connected connect_to(const Destination& to, const CurlSettings& settings,
                     std::chrono::milliseconds limit, const Cancel& cancel) {
  cancel.check();
  const auto refusal = [&to] {
    return Error(ErrorKind::denied,
                 named(to) + " is an address within a network: no connection is made there");
  };
  if (is_metadata_literal(to.host)) throw refusal();
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    throw Error(ErrorKind::local, "libcurl does not start");
  const Easy transfer(curl_easy_init());
  if (!transfer) throw std::bad_alloc();
  const Proxy proxy = choose_proxy(settings.environment, to.port == 80 ? "http" : "https");
  if (proxy.url.starts_with("https://"))
    throw Error(ErrorKind::usage, "connections cannot go by a proxy that is reached by https");
  Attempt attempt{.cancel = &cancel, .addresses = to.addresses};
  attempt.checks = proxy.url.empty() || is_excepted(to.host, proxy.except);
  std::array<char, CURL_ERROR_SIZE> detail{};
  prepare(transfer.get(), to, proxy, attempt);
  curl_easy_setopt(transfer.get(), CURLOPT_ERRORBUFFER, detail.data());
  curl_easy_setopt(transfer.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(limit.count()));
  const CURLcode code = curl_easy_perform(transfer.get());
  cancel.check();
  if (code != CURLE_OK && attempt.refused) throw refusal();
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (code == CURLE_OK) curl_easy_getinfo(transfer.get(), CURLINFO_ACTIVESOCKET, &socket);
  if (code != CURLE_OK || socket == CURL_SOCKET_BAD)
    throw Error(ErrorKind::transient,
                named(to) + ": " + (detail[0] != 0 ? detail.data() : curl_easy_strerror(code)));
  UniqueFd own(::fcntl(socket, F_DUPFD_CLOEXEC, 0));  // libcurl closes its own descriptor.
  if (!own) throw system_error("connecting to " + named(to), errno);
  return {.socket = std::move(own), .is_public = attempt.is_public};
}

}  // namespace fastgpu::http
