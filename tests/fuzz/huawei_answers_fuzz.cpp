// Whatever Huawei Cloud answers: the same text to every question.
#include <cstddef>
#include <cstdint>
#include <string>

#include "provision/every_question.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fastgpu::provision;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int status = data[0] % 3 == 0 ? 200 : data[0] % 3 == 1 ? 202 : 400;
  fastgpu::test::ask_everything(
      {.status = status, .headers = {}, .body = text}, [](cloud::ApiTools tools) {
        return std::make_unique<huawei::HuaweiCloud>(std::move(tools), "");
      });
  return 0;
}
