// Whatever Alibaba Cloud answers: the same text to every question.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "provision/providers/alibaba/alibaba_cloud.hpp"

namespace {

using namespace fastgpu;
using namespace fastgpu::provision;

class SameAnswer final : public http::Client, public cloud::CallObserver {
 public:
  explicit SameAnswer(http::Response answer) : answer_(std::move(answer)) {}
  http::Response send(const http::Request&, const Cancel&) override {
    constexpr int kMostQuestions = 200;  // A list without an end is cut there.
    if (++asked_ > kMostQuestions) return {.status = 400, .headers = {}, .body = "{}"};
    return answer_;
  }
  void attempted(const cloud::CallReport&) override {}

 private:
  http::Response answer_;
  int asked_ = 0;
};

cloud::ApiTools tools(SameAnswer& answer) {
  return {
      .http = answer,
      .observer = answer,
      .find_credentials =
          [] { return credentials::Credentials{.keys = {.access_key = "k", .secret_key = {}}}; },
      .wait = [](std::chrono::milliseconds, const Cancel&) {},
      .random = [] { return 0.0; },
      .backoff = {.attempts = 1}};
}

template <class Action>
void attempt(const http::Response& response, Action action) {
  static const Cancel kNever;
  SameAnswer answer(response);
  alibaba::AlibabaCloud cloud(tools(answer), "");
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
  attempt(response, [&](auto& cloud, const Cancel& never) { cloud.parts(region, never); });
  attempt(response, [&](auto& cloud, const Cancel& never) {
    cloud.make_network({.site = {region, region + "-h"}, .ssh_from = {"192.0.2.1/32"}}, never);
  });
  attempt(response, [&](auto& cloud, const Cancel& never) {
    cloud.launch({.site = {region, region + "-h"}}, never);
  });
  return 0;
}
