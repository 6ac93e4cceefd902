// Whatever Huawei Cloud answers: the same text to every question.
#include "any_answer.hpp"
#include "provision/every_question.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fastgpu;
  using namespace fastgpu::provision;
  test::ask_everything(fuzz::any_answer(data, size, {200, 202, 400}), [](cloud::ApiTools tools) {
    return std::make_unique<huawei::HuaweiCloud>(std::move(tools), "");
  });
  return 0;
}
