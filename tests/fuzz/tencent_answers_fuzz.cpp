// Whatever Tencent Cloud's place answers: the same text to every call of the provider.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "provision/api_tools.hpp"
#include "provision/providers/tencent/tencent_cloud.hpp"

namespace {

using namespace fastgpu;
using namespace fastgpu::provision;

template <class Action>
void attempt(const http::Response& response, Action action) {
  static const Cancel kNever;
  test::SameAnswer http(response);
  test::Unheard observer;
  tencent::TencentCloud cloud(test::tools_over(http, observer), "http://127.0.0.1:1");
  try {
    action(cloud, kNever);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const http::Response answer{.status = data[0] % 4 == 0 ? 503 : 200, .headers = {}, .body = text};
  const std::string region = "ap-guangzhou";
  const std::vector<std::string> ids = {"ins-1"};
  attempt(answer, [&](auto& cloud, const Cancel& never) { cloud.account(never); });
  attempt(answer, [&](auto& cloud, const Cancel& never) { cloud.regions(never); });
  attempt(answer,
          [&](auto& cloud, const Cancel& never) { cloud.offers(region, {.gpus = 1}, never); });
  attempt(answer, [&](auto& cloud, const Cancel& never) { cloud.images(region, "", "", never); });
  attempt(answer, [&](auto& cloud, const Cancel& never) { cloud.quotas(region, never); });
  attempt(answer, [&](auto& cloud, const Cancel& never) { cloud.public_key(region, "k", never); });
  attempt(answer, [&](auto& cloud, const Cancel& never) {
    cloud.make_network({.site = {region, "ap-guangzhou-3"}}, never);
  });
  attempt(answer, [&](auto& cloud, const Cancel&) { cloud.remove_network(region, {"c0ffee00"}); });
  attempt(answer, [&](auto& cloud, const Cancel& never) {
    cloud.launch({.site = {region, "ap-guangzhou-3"}}, never);
  });
  attempt(answer, [&](auto& cloud, const Cancel& never) { cloud.machines(region, {}, never); });
  attempt(answer, [&](auto& cloud, const Cancel& never) { cloud.stop(region, ids, never); });
  attempt(answer, [&](auto& cloud, const Cancel&) { cloud.terminate(region, ids); });
  attempt(answer, [&](auto& cloud, const Cancel& never) { cloud.parts(region, never); });
  return 0;
}
