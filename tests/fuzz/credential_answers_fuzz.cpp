// Whatever is answered where a machine asks for its role's keys: the same text to every question.
#include <cstddef>
#include <cstdint>
#include <string>

#include "attempt.hpp"
#include "provision/credentials/aws_roles.hpp"
#include "provision/credentials/credentials.hpp"

using fastgpu::fuzz::attempt;

namespace {

using namespace fastgpu;
using namespace fastgpu::provision::credentials;

class SameAnswer final : public http::Client {
 public:
  explicit SameAnswer(http::Response answer) : answer_(std::move(answer)) {}
  http::Response send(const http::Request&, const Cancel&) override { return answer_; }

 private:
  http::Response answer_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  SameAnswer http({.status = data[0] % 2 == 0 ? 200 : 403, .headers = {}, .body = text});
  static const Cancel kNever;
  const Sources sources{.environment = [](const char*) { return std::nullopt; },
                        .home = "/nonexistent",
                        .http = http,
                        .cancel = kNever,
                        .now = {}};
  for (const auto find : {find_aws, find_alibaba, find_tencent, find_huawei})
    attempt([&] { find(sources); });
  const Search search(sources);
  attempt([&] { assume_role(search, {.arn = "arn"}, {.access_key = "A", .secret_key = {}}); });
  return 0;
}
