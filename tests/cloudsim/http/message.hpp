// One HTTP exchange as the faces see it.
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
  std::string path;   ///< As sent, still percent-encoded, without the query.
  std::string query;  ///< As sent, without the question mark.
  Headers headers;    ///< Names in lower case, in the order of their arrival.
  std::string body;

  /// The first header of that name (in lower case).
  std::optional<std::string> header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (key == name) return value;
    return std::nullopt;
  }
};

/// How the bytes of a reply reach the client.
enum class Delivery : std::uint8_t {
  whole,
  reset,  ///< Not at all: the connection is reset.
  half,   ///< The head and half of the body, then the connection closes.
  drip,   ///< All of it, byte after byte with `pause` between them.
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
