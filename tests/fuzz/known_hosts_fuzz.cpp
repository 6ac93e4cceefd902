// A known_hosts file, which other programs write too, and what a client tells of a certificate.
#include <cstddef>
#include <cstdint>

#include "ssh/host_certificate.hpp"
#include "ssh/known_hosts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string& key : fastgpu::ssh::known_host(text, "train-1.example", 2222).keys)
    if (!key.starts_with("ssh-ed25519 ")) __builtin_trap();
  const auto check = fastgpu::ssh::parse_certificate_check(text);
  if (check && check->holds && !check->reason.empty()) __builtin_trap();
  return 0;
}
