#include "provision/cloud/service_endpoint.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

constexpr const char* kUsual = "ecs.cn-north-4.myhuaweicloud.com";

CloudEndpoint::Target target(const CloudEndpoint& endpoint, const std::string& service = "ecs") {
  return endpoint.of(service, "cn-north-4", kUsual);
}

TEST_CASE("without an endpoint a request goes to the cloud's own host") {
  CHECK(target(CloudEndpoint()).url == "https://ecs.cn-north-4.myhuaweicloud.com");
  CHECK(target(CloudEndpoint("")).host == kUsual);
}

TEST_CASE("an endpoint with a name is the host that requests name and sign") {
  const CloudEndpoint one("https://{service}.{region}.cloud.example.com:8443");
  CHECK(target(one).url == "https://ecs.cn-north-4.cloud.example.com:8443");
  CHECK(target(one).host == "ecs.cn-north-4.cloud.example.com:8443");
  CHECK(target(CloudEndpoint("http://Cloud.Example:8081")).host == "Cloud.Example:8081");
}

TEST_CASE("an address stands in for the cloud, whose host requests keep naming") {
  for (const char* url : {"http://127.0.0.1:5601", "http://[::1]:80", "http://localhost:99"}) {
    CHECK(target(CloudEndpoint(url)).url == url);
    CHECK(target(CloudEndpoint(url)).host == kUsual);
  }
}

TEST_CASE("a service may have an endpoint of its own") {
  const CloudEndpoint mixed("https://all.example", {{"vpc", "https://net.example"}, {"ims", ""}});
  CHECK(target(mixed, "vpc").host == "net.example");
  CHECK(target(mixed, "ims").host == "all.example");
  CHECK(target(mixed, "ecs").host == "all.example");
}

TEST_CASE("what is no URL is refused with the value met") {
  for (const char* text : {"cloud.example.com", "ftp://x", "https://", "://"}) {
    const Error error = test::failure_of([&] { CloudEndpoint endpoint(text); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(std::string(error.what()).find(text) != std::string::npos);
  }
}

}  // namespace
}  // namespace fastgpu::provision::cloud
