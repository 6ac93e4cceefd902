// One connection of an HTTP proxy: CONNECT for https, and requests with an absolute URL for http.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/cancel.hpp"
#include "base/secret.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::http {

/// The request of a client of the proxy.
struct ForwardRequest {
  std::string host;  ///< The host in lower case.
  std::uint16_t port = 0;
  bool connects = false;  ///< True for CONNECT: the bytes that follow are passed on unread.
  /// The head to send to the server instead of the received one; empty for CONNECT.
  std::string head{};
  std::string login{};  ///< The value of the header Proxy-Authorization: "Basic ...".
};

/// Parses a request up to its empty line. Throws ErrorKind::usage if it is not a request to a
/// proxy.
ForwardRequest parse_forward_request(std::string_view head);

struct Forwarding {
  Secret login;  ///< The header value that clients must send: "Basic ...".
  /// Connects to a host and port. An error is sent to the client: 403 if its kind is denied, else
  /// 502.
  std::function<UniqueFd(const std::string& host, std::uint16_t port)> connect;
};

/// Serves one client until both sides have closed. Blocks, but ends early once a stop is requested.
void forward(UniqueFd client, const Forwarding& forwarding, const Cancel& cancel) noexcept;

}  // namespace fastgpu::http
