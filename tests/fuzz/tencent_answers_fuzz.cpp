// Whatever Tencent Cloud's place answers: the same text to every call of the provider.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "provision/providers/tencent/tencent_cloud.hpp"

namespace {

using namespace fastgpu;
using namespace fastgpu::provision;

class SameAnswer final : public http::Client {
 public:
  explicit SameAnswer(http::Response answer) : answer_(std::move(answer)) {}
  http::Response send(const http::Request&, const Cancel&) override {
    constexpr int kMostQuestions = 200;  // A list without an end is cut there.
    if (++asked_ > kMostQuestions) return {.status = 400, .headers = {}, .body = "{}"};
    return answer_;
  }

 private:
  http::Response answer_;
  int asked_ = 0;
};

class Unheard final : public cloud::CallObserver {
 public:
  void attempted(const cloud::CallReport&) override {}
};

template <class Action>
void attempt(const http::Response& response, Action action) {
  static const Cancel kNever;
  SameAnswer http(response);
  Unheard observer;
  tencent::TencentCloud cloud({.http = http,
                               .observer = observer,
                               .find_credentials = [] { return credentials::Credentials{}; },
                               .wait = [](std::chrono::milliseconds, const Cancel&) {},
                               .random = [] { return 0.0; },
                               .backoff = {.attempts = 2}},
                              "http://127.0.0.1:1");
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
