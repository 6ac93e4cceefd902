// One connection of an HTTP proxy: CONNECT for https, requests with a whole address for http.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/cancel.hpp"
#include "base/secret.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::http {

/// The request of a proxy's client.
struct ForwardRequest {
  std::string host;  ///< Lower case.
  std::uint16_t port = 0;
  bool connects = false;  ///< CONNECT: the bytes that follow are not for us to read.
  /// The head for the server in place of the received one; empty with CONNECT.
  std::string head{};
  std::string login{};  ///< The value of the header Proxy-Authorization: "Basic ...".
};

/// Reads a request up to its empty line. Throws ErrorKind::usage for a request that is not one to a
/// proxy.
ForwardRequest parse_forward_request(std::string_view head);

struct Forwarding {
  Secret login;  ///< The header value required of clients: "Basic ...".
  /// Connects to a host and port. Its errors go to the client: 403 for denied, else 502.
  std::function<UniqueFd(const std::string& host, std::uint16_t port)> connect;
};

/// Serves one client until both sides have ended. Blocks; ends early once a stop is requested.
void forward(UniqueFd client, const Forwarding& forwarding, const Cancel& cancel) noexcept;

}  // namespace fastgpu::http
