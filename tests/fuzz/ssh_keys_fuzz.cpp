// Key files: a private key in a file of the user's, a public one in one line.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "attempt.hpp"
#include "base/unique_fd.hpp"
#include "ssh/identity.hpp"
#include "ssh/keys.hpp"

using fastgpu::ErrorKind;
using fastgpu::fuzz::attempt;

namespace {

void load_private_key(const std::uint8_t* data, std::size_t size) {
  const fastgpu::UniqueFd file(::memfd_create("key", MFD_CLOEXEC));
  if (!file || ::fchmod(file.get(), 0600) != 0 ||
      ::write(file.get(), data, size) != static_cast<ssize_t>(size))
    __builtin_trap();
  const auto key = fastgpu::ssh::Identity::load("/proc/self/fd/" + std::to_string(file.get()));
  if (key.sign("some text").size() != 64) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attempt<ErrorKind::usage, ErrorKind::denied>([&] { load_private_key(data, size); });
  const std::string line(reinterpret_cast<const char*>(data), size);
  attempt<ErrorKind::usage, ErrorKind::denied>([&] {
    if (!fastgpu::ssh::fingerprint(line).starts_with("SHA256:")) __builtin_trap();
  });
  return 0;
}
