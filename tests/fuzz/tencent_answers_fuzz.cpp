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
  http::Response send(const http::Request&, const Cancel&) override { return answer_; }

 private:
  http::Response answer_;
};

class Unheard final : public cloud::CallObserver {
 public:
  void attempted(const cloud::CallReport&) override {}
};

template <class Action>
void attempt(Action action) {
  try {
    action();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  SameAnswer http({.status = data[0] % 4 == 0 ? 503 : 200, .headers = {}, .body = text});
  static const Cancel kNever;
  Unheard observer;
  tencent::TencentCloud cloud({.http = http,
                               .observer = observer,
                               .find_credentials = [] { return credentials::Credentials{}; },
                               .wait = [](std::chrono::milliseconds, const Cancel&) {},
                               .random = [] { return 0.0; }},
                              "http://127.0.0.1:1");
  const std::string region = "ap-guangzhou";
  const std::vector<std::string> ids = {"ins-1"};
  attempt([&] { cloud.account(kNever); });
  attempt([&] { cloud.regions(kNever); });
  attempt([&] { cloud.offers(region, {.gpus = 1}, kNever); });
  attempt([&] { cloud.images(region, "", "", kNever); });
  attempt([&] { cloud.quotas(region, kNever); });
  attempt([&] { cloud.make_network({.site = {region, "ap-guangzhou-3"}}, kNever); });
  attempt([&] { cloud.remove_network(region, {"c0ffee00"}); });
  attempt([&] { cloud.launch({.site = {region, "ap-guangzhou-3"}}, kNever); });
  attempt([&] { cloud.machines(region, {}, kNever); });
  attempt([&] { cloud.stop(region, ids, kNever); });
  attempt([&] { cloud.terminate(region, ids); });
  attempt([&] { cloud.parts(region, kNever); });
  return 0;
}
