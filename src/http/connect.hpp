// Plain connections to a host and port, through the same proxies as requests.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "base/cancel.hpp"
#include "base/unique_fd.hpp"
#include "http/curl_client.hpp"

namespace fastgpu::http {

/// The addresses that a name may have. Those of is_metadata_address() are always refused.
enum class Addresses : std::uint8_t { any, public_only };

struct Destination {
  std::string host;
  std::uint16_t port = 443;
  Addresses addresses = Addresses::public_only;
};

struct Connected {
  UniqueFd socket;
  /// True if the connection goes through a proxy or to an address of the public Internet.
  bool is_public = false;
};

/// Connects within `limit`. Throws transient, with the reason, if that fails. Throws denied if the
/// name has no allowed address, interrupted on a cancel, and usage for an unusable proxy.
Connected connect_to(const Destination& to, const CurlSettings& settings,
                     std::chrono::milliseconds limit, const Cancel& cancel);

/// Returns true for addresses of the public Internet, which are not private, shared, loopback,
/// link-local or multicast.
bool is_public_address(const sockaddr& address) noexcept;
/// Returns true for addresses at which clouds give credentials to their machines: all link-local
/// addresses, and the other such addresses of Alibaba Cloud, AWS, Azure and Google Cloud.
bool is_metadata_address(const sockaddr& address) noexcept;

}  // namespace fastgpu::http
