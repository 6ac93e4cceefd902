// A known_hosts file, which other programs write too.
#include <cstddef>
#include <cstdint>

#include "ssh/known_hosts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string& key : fastgpu::ssh::known_host(text, "train-1.example", 2222).keys)
    if (!key.starts_with("ssh-ed25519 ")) __builtin_trap();
  return 0;
}
