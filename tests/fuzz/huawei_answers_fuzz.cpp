// Whatever Huawei Cloud answers: the same text to every question.
#include <cstddef>
#include <cstdint>
#include <string>

#include "provision/huawei/every_question.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int status = data[0] % 3 == 0 ? 200 : data[0] % 3 == 1 ? 202 : 400;
  fastgpu::provision::huawei::ask_everything({.status = status, .headers = {}, .body = text});
  return 0;
}
