// Whatever Alibaba Cloud answers: the same text to every question.
#include "any_answer.hpp"
#include "provision/every_question.hpp"
#include "provision/providers/alibaba/alibaba_cloud.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fastgpu;
  using namespace fastgpu::provision;
  http::Response answer = fuzz::any_answer(data, size, {200, 403});
  answer.body = test::with_request_id(answer.body);
  answer.headers.push_back({"x-ratelimit-user", answer.body});
  test::ask_everything(answer, [](cloud::ApiTools tools) {
    return std::make_unique<alibaba::AlibabaCloud>(std::move(tools), "");
  });
  return 0;
}
