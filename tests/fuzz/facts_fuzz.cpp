// What a node tells of itself.
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "envs/facts/facts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) try {
  const auto facts =
      fastgpu::envs::parse_facts(std::string_view(reinterpret_cast<const char*>(data), size));
  fastgpu::envs::describe_gpus(facts);
  fastgpu::envs::glibc_version(facts);
  return 0;
} catch (const fastgpu::Error&) {
  return 0;
}
