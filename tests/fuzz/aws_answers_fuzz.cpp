// Whatever AWS answers: the same text to every question.
#include <cstddef>
#include <cstdint>
#include <string>

#include "provision/every_question.hpp"
#include "provision/providers/aws/aws_cloud.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fastgpu::provision;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int status = data[0] % 2 == 0 ? 200 : 400;
  fastgpu::test::ask_everything(
      {.status = status, .headers = {}, .body = text}, [](cloud::ApiTools tools) {
        return std::make_unique<aws::AwsCloud>(std::move(tools), aws::Endpoints{});
      });
  return 0;
}
