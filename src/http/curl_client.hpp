// http::Client over libcurl: connections are kept and used again, TLS is always verified.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/client.hpp"

namespace fastgpu::http {

/// Looks an environment variable up; absent where it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

struct CurlSettings {
  /// Whom to trust in place of the system's authorities; empty: the system's.
  std::filesystem::path ca_file{};
  /// Where http_proxy, https_proxy, all_proxy and no_proxy are looked up; none: no proxy.
  Environment environment{};
};

/// As the environment says: its proxies, and CURL_CA_BUNDLE or SSL_CERT_FILE in place of the
/// system's authorities.
CurlSettings curl_settings(const Environment& environment);

/// HTTP/1.1 and 2 over plain connections and TLS 1.2 or newer.
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
