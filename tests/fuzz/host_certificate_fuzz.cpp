// A host's certificate, which comes over the network before the host has proved anything.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "ssh/certificate.hpp"
#include "ssh/wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fastgpu;
  const std::string_view blob(reinterpret_cast<const char*>(data), size);
  try {
    const auto certificate =
        ssh::parse_certificate("ssh-ed25519-cert-v01@openssh.com " + ssh::base64_encode(blob));
    const std::string authority = certificate.authority;
    ssh::check_certificate(certificate, "train-1.lab", 1'800'000'000, {&authority, 1});
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
