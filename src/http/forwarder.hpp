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

/// What the client of a proxy asks for.
struct ForwardRequest {
  std::string host;  ///< Lower case.
  std::uint16_t port = 0;
  bool connects = false;  ///< By CONNECT: what follows is not ours to read.
  std::string head{};     ///< Else what the server gets in place of what came.
  std::string login{};    ///< Of the header Proxy-Authorization: "Basic ...".
};

/// Reads a request up to its empty line. Throws ErrorKind::usage for what no client of a proxy
/// sends.
ForwardRequest parse_forward_request(std::string_view head);

struct Forwarding {
  Secret login;  ///< The header's value that clients must send: "Basic ...".
  /// Connects to a host and port. What it throws goes to the client: 403 for denied, else 502.
  std::function<UniqueFd(const std::string& host, std::uint16_t port)> connect;
};

/// Serves one client until both sides have ended. Blocks; ends early once a stop is requested.
void forward(UniqueFd client, const Forwarding& forwarding, const Cancel& cancel) noexcept;

}  // namespace fastgpu::http
