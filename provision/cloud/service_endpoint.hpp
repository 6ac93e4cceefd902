// The hosts that receive a cloud's requests in place of its usual ones.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::provision::cloud {

/// A different base URL for all services of a cloud, or for some of them. "{service}" and
/// "{region}" in it are replaced for each request: "https://{service}.intl.tencentcloudapi.com".
class CloudEndpoint {
 public:
  CloudEndpoint() = default;
  /// Sets the URLs; empty for the usual hosts. Throws ErrorKind::usage for text that is not an http
  /// or https URL.
  CloudEndpoint(std::string all, std::map<std::string, std::string> by_service = {});
  CloudEndpoint(const char* all) : CloudEndpoint(std::string(all)) {}
  /// Reads the URLs for all services and those for single ones from environment variables, such as
  /// FASTGPU_HUAWEI_ENDPOINT and FASTGPU_HUAWEI_ENDPOINT_VPC. `url_in` returns a variable's value;
  /// empty if it is unset.
  static CloudEndpoint in_variables(std::string_view variable,
                                    const std::function<std::string(const std::string&)>& url_in);

  /// The destination of one request.
  struct Target {
    std::string url{};   ///< "https://cvm.intl.tencentcloudapi.com", without a path.
    std::string host{};  ///< The host name in the request and in its signature.
  };

  /// Returns the destination of a request. `usual` is the cloud's own host. If the URL has an IP
  /// address or "localhost", the server there takes the place of the cloud, and the request is
  /// still named and signed for `usual`.
  Target of(const std::string& service, const std::string& region, const std::string& usual) const;

  /// Returns true if any URL contains `text`, such as ".intl.".
  bool mentions(const std::string& text) const;

 private:
  std::string all_{};
  std::map<std::string, std::string> by_service_{};
};

/// Returns the variables that in_variables() reads.
std::vector<std::string> endpoint_variables(std::string_view variable);

}  // namespace fastgpu::provision::cloud
