// Files of credentials as somebody else may have written them, and a command in one of them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "attempt.hpp"
#include "provision/credentials/aws_process.hpp"
#include "provision/credentials/ini.hpp"
#include "provision/credentials/json_keys.hpp"

using fastgpu::fuzz::attempt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fastgpu::provision::credentials;
  const std::string text(reinterpret_cast<const char*>(data), size);
  attempt([&] { parse_ini(text, "input"); });
  attempt([&] { split_words(text, "input"); });
  attempt([&] {
    keys_in(parse_object(text, "input", fastgpu::ErrorKind::usage), {"a", "b", "c", "d"}, "input");
  });
  parse_time(text);
  return 0;
}
