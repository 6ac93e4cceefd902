// Plain connections to a host and port, by the proxies that requests go by.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "base/cancel.hpp"
#include "base/unique_fd.hpp"
#include "http/curl_client.hpp"

namespace fastgpu::http {

/// Which addresses a name may stand for. Those of is_metadata_address are refused always.
enum class Addresses : std::uint8_t { any, public_only };

struct Destination {
  std::string host;
  std::uint16_t port = 443;
  Addresses addresses = Addresses::public_only;
};

struct Connected {
  UniqueFd socket;
  bool is_public = false;  ///< By a proxy, or to an address of the public Internet.
};

/// Connects within `limit`. Throws transient, saying why, where there is no connection; denied
/// where the name stands for no address that is allowed; interrupted; usage for an unusable proxy.
Connected connect_to(const Destination& to, const CurlSettings& settings,
                     std::chrono::milliseconds limit, const Cancel& cancel);

/// True for addresses of the public Internet: not private, shared, loopback, link-local or
/// multicast ones.
bool is_public_address(const sockaddr& address) noexcept;
/// True for addresses at which clouds give their machines credentials: all link-local ones, and
/// those of Alibaba Cloud, AWS, Azure and Google Cloud that are none.
bool is_metadata_address(const sockaddr& address) noexcept;

}  // namespace fastgpu::http
