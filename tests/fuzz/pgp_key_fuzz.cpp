// The key of a package repository, armoured or not, as a server or a user gives it.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "envs/drivers/pgp_key.hpp"

namespace {

bool is_fingerprint(const std::string& text) {
  return text.size() == 40 && text.find_first_not_of("0123456789ABCDEF") == std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) try {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string found = fastgpu::envs::key_fingerprint(text);
  if (!is_fingerprint(found) || fastgpu::envs::parse_fingerprint(found) != found) __builtin_trap();
  return 0;
} catch (const fastgpu::Error&) {
  return 0;
}
