// The implementation of http::Client by libcurl. Keeps connections for later requests and always
// verifies TLS.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/client.hpp"
#include "http/environment.hpp"

namespace fastgpu::http {

struct CurlSettings {
  /// The authorities to trust in place of the system's; empty for the system's.
  std::filesystem::path ca_file{};
  /// The authorities to trust in place of all others, as PEM; empty for those of `ca_file`.
  std::string ca_text{};
  std::optional<ClientCertificate> identity{};  ///< Our certificate for servers that ask for one.
  /// The source of http_proxy, https_proxy, all_proxy and no_proxy; null for no proxy.
  Environment environment{};
};

/// Returns the settings from the environment: its proxies, and CURL_CA_BUNDLE or SSL_CERT_FILE in
/// place of the system's authorities.
CurlSettings curl_settings(const Environment& environment);

/// Supports HTTP/1.1 and 2 over plain connections and TLS 1.2 or newer.
class CurlClient final : public Client {
 public:
  explicit CurlClient(CurlSettings settings);
  ~CurlClient() override;

  Response send(const Request& request, const Cancel& cancel) override;

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace fastgpu::http
