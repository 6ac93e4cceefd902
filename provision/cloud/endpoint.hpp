// Where a cloud's requests go in place of its usual hosts.
#pragma once

#include <map>
#include <string>

namespace fastgpu::provision::cloud {

/// Another base URL for all services of a cloud, or for some of them. "{service}" and "{region}" in
/// it stand for those of each request: "https://{service}.intl.tencentcloudapi.com".
class Endpoint {
 public:
  Endpoint() = default;
  /// Empty for none. Throws ErrorKind::usage for what is no URL of http or https.
  Endpoint(std::string all, std::map<std::string, std::string> by_service = {});
  Endpoint(const char* all) : Endpoint(std::string(all)) {}

  /// Where one request goes.
  struct Target {
    std::string url{};   ///< "https://cvm.intl.tencentcloudapi.com", without a path.
    std::string host{};  ///< As the request names and signs it.
  };

  /// `usual` is the cloud's own host, which the request keeps in its name and signature where the
  /// URL has an address or "localhost": what answers there stands in for the cloud itself.
  Target of(const std::string& service, const std::string& region, const std::string& usual) const;

  /// Whether any URL has this in it: ".intl.".
  bool mentions(const std::string& text) const;

 private:
  std::string all_{};
  std::map<std::string, std::string> by_service_{};
};

}  // namespace fastgpu::provision::cloud
