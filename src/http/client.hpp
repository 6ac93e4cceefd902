// The HTTP interface for the rest of fastgpu. The implementation by libcurl is in
// http/curl_client.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "base/error.hpp"
#include "base/secret.hpp"

namespace fastgpu::http {

struct Header {
  std::string name;
  std::string value;

  friend bool operator==(const Header&, const Header&) = default;
};

/// Returns the value of the first header with that name, in any case.
std::optional<std::string_view> find_header(const std::vector<Header>& headers,
                                            std::string_view name);

/// Sets the header: replaces the values of all headers with that name, or adds one.
void set_header(std::vector<Header>& headers, std::string_view name, std::string value);

struct Request {
  std::string method = "GET";
  std::string url;
  std::vector<Header> headers{};  ///< Sent unchanged. Only Host and lengths are added.
  std::string body{};
  std::chrono::milliseconds limit{30'000};  ///< The limit of the whole exchange; 0 disables it.
  /// Aborts if no data arrives for this long; 0 disables it.
  std::chrono::seconds silence{0};
  /// The limit for the name look-up, the connection and the TLS handshake.
  std::chrono::milliseconds connect_limit{10'000};
  std::size_t largest_answer = 64U << 20U;  ///< The limit on the bytes of the body.
  /// Takes the body of an answer with a status of 2xx in pieces of any size, as they arrive. The
  /// body of the Response is then empty, and largest_answer does not count. What it throws ends the
  /// exchange.
  std::function<void(std::string_view)> on_data{};
  /// Uses no proxy, even if the environment has one.
  bool direct = false;
};

struct Response {
  int status = 0;
  std::vector<Header> headers{};
  std::string body{};

  /// Returns the value of the first header with that name, in any case.
  std::optional<std::string_view> header(std::string_view name) const {
    return find_header(headers, name);
  }
};

/// A certificate by which we log in to servers, and its key, both as PEM.
struct ClientCertificate {
  std::string certificate{};
  Secret key{};
};

/// Thrown for an exchange that failed before the request could reach the server: it has had no
/// effect there. Any other failure leaves the effect unknown.
class RequestNotSent : public Error {
 public:
  explicit RequestNotSent(const Error& why) : Error(why) {}
};

/// An HTTP client. Thread-safe.
class Client {
 public:
  virtual ~Client() = default;

  /// Performs one exchange and returns once it is complete. Redirects are not followed. Any HTTP
  /// status is a Response, because only the caller knows what a 404 means.
  ///
  /// Sends a request only once: if the connection is lost, the effect of the request is unknown.
  /// Throws, as RequestNotSent if it is known that nothing was sent,
  /// - transient if no complete answer came: no connection, a reset, or the request's limit passed
  /// - remote if the other side's certificate cannot be verified or it has no current TLS
  /// - capacity for an answer beyond the request's limit
  /// - interrupted promptly after a cancel
  /// - usage for a URL or header that cannot be sent, or an unusable proxy
  /// - local if a file of certificates cannot be read.
  virtual Response send(const Request& request, const Cancel& cancel) = 0;
};

}  // namespace fastgpu::http
