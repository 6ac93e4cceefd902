// HTTP requests and replies in the form that the apis use.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastgpu::cloudsim {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;
  std::string path;   ///< As sent: percent-encoded, and without the query.
  std::string query;  ///< As sent, without the question mark.
  Headers headers;    ///< Names in lower case, in the order in which they arrived.
  std::string body;

  /// Returns the first header of that name, which must be in lower case.
  std::optional<std::string> header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (key == name) return value;
    return std::nullopt;
  }
};

/// How a reply is sent to the client.
enum class Delivery : std::uint8_t {
  whole,
  reset,  ///< Nothing is sent: the connection is reset.
  half,   ///< The head and half of the body are sent, then the connection is closed.
  drip,   ///< Everything is sent, byte by byte with `pause` between them.
};

struct Reply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body{};
  Headers headers{};
  Delivery delivery = Delivery::whole;
  std::chrono::milliseconds pause{0};
};

}  // namespace fastgpu::cloudsim
