// HTTP as the rest of fastgpu sees it. The libcurl implementation is http/curl_client.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"

namespace fastgpu::http {

struct Header {
  std::string name;
  std::string value;

  friend bool operator==(const Header&, const Header&) = default;
};

/// The value of the first header of that name, whatever its case.
std::optional<std::string_view> find_header(const std::vector<Header>& headers,
                                            std::string_view name);

/// Puts the value in place of what headers of that name said, or adds one.
void set_header(std::vector<Header>& headers, std::string_view name, std::string value);

struct Request {
  std::string method = "GET";
  std::string url;
  std::vector<Header> headers{};  ///< Sent as they are; nothing but Host and lengths is added.
  std::string body{};
  std::chrono::milliseconds limit{30'000};          ///< For the whole exchange.
  std::chrono::seconds silence{0};                  ///< So long nothing may come; 0: no such bound.
  std::chrono::milliseconds connect_limit{10'000};  ///< For name, connection and TLS.
  std::size_t largest_answer = 64U << 20U;          ///< Bytes of the body.
  bool direct = false;                              ///< By no proxy, whatever the environment says.
};

struct Response {
  int status = 0;
  std::vector<Header> headers{};
  std::string body{};

  /// The value of the first header of that name, whatever its case.
  std::optional<std::string_view> header(std::string_view name) const {
    return find_header(headers, name);
  }
};

/// Any number of threads may send by one client at a time.
class Client {
 public:
  virtual ~Client() = default;

  /// Performs one exchange and returns once it is complete; redirects are answers like others. Any
  /// HTTP status is a Response, for only the caller knows what a 404 means.
  ///
  /// A request is sent once: whether one that was lost took effect is unknown to us. Throws
  /// - transient where no complete answer came: no connection, a reset, the request's limit passed
  /// - remote where the other side's certificate cannot be verified or it speaks no TLS of today
  /// - capacity for an answer beyond the request's largest
  /// - interrupted promptly after a wish to stop
  /// - usage for a URL or header that cannot be sent, or a proxy that is none
  /// - local where a file of certificates cannot be read.
  virtual Response send(const Request& request, const Cancel& cancel) = 0;
};

}  // namespace fastgpu::http
