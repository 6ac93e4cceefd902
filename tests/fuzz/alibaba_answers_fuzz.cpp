// Whatever Alibaba Cloud answers: the same text to every question.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "provision/api_tools.hpp"
#include "provision/providers/alibaba/alibaba_cloud.hpp"

namespace {

using namespace fastgpu;
using namespace fastgpu::provision;

template <class Action>
void attempt(const http::Response& response, Action action) {
  static const Cancel kNever;
  test::SameAnswer answer(response);
  test::Unheard observer;
  alibaba::AlibabaCloud cloud(test::tools_over(answer, observer), "");
  try {
    action(cloud, kNever);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const http::Response response{.status = data[0] % 2 == 0 ? 200 : 403,
                                .headers = {{"x-ratelimit-user", text}},
                                .body = text};
  const std::string region = "cn-hangzhou";
  attempt(response, [](auto& cloud, const Cancel& never) { cloud.account(never); });
  attempt(response, [](auto& cloud, const Cancel& never) { cloud.regions(never); });
  attempt(response, [&](auto& cloud, const Cancel& never) { cloud.machines(region, {}, never); });
  attempt(response, [&](auto& cloud, const Cancel& never) { cloud.images(region, "", "", never); });
  attempt(response, [&](auto& cloud, const Cancel& never) { cloud.quotas(region, never); });
  attempt(response,
          [&](auto& cloud, const Cancel& never) { cloud.public_key(region, "k", never); });
  attempt(response, [&](auto& cloud, const Cancel& never) { cloud.parts(region, never); });
  attempt(response, [&](auto& cloud, const Cancel& never) {
    cloud.make_network({.site = {region, region + "-h"}, .ssh_from = {"192.0.2.1/32"}}, never);
  });
  attempt(response, [&](auto& cloud, const Cancel& never) {
    cloud.launch({.site = {region, region + "-h"}}, never);
  });
  return 0;
}
