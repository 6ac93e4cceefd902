// Plain connections to a host and port, over the same proxies as requests.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "base/cancel.hpp"
#include "base/unique_fd.hpp"
#include "http/curl_client.hpp"

namespace fastgpu::http {

/// The addresses that a name may have. Those of is_metadata_address are always refused.
enum class Addresses : std::uint8_t { any, public_only };

struct Destination {
  std::string host;
  std::uint16_t port = 443;
  Addresses addresses = Addresses::public_only;
};

struct Connected {
  UniqueFd socket;
  bool is_public = false;  ///< Over a proxy, or to an address of the public Internet.
};

/// Connects within `limit`. Throws transient with the reason if that fails; denied if
/// the name has no allowed address; interrupted; usage for an unusable proxy.
Connected connect_to(const Destination& to, const CurlSettings& settings,
                     std::chrono::milliseconds limit, const Cancel& cancel);

/// Returns true for addresses of the public Internet: not private, shared, loopback, link-local or
/// multicast ones.
bool is_public_address(const sockaddr& address) noexcept;
/// Returns true for addresses at which clouds give their machines credentials. These are all
/// link-local ones, and those of Alibaba Cloud, AWS, Azure and Google Cloud that are not
/// link-local.
bool is_metadata_address(const sockaddr& address) noexcept;

}  // namespace fastgpu::http
