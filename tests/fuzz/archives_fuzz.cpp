// What an archive of an environment may be: a tar archive, and what zstd has not packed.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "transfer/packing.hpp"
#include "transfer/tar.hpp"

namespace transfer = fastgpu::transfer;

namespace {

/// An entry comes out of so many bytes at least.
constexpr std::size_t kHeader = 512;

void read_tar(std::string_view bytes) try {
  const std::size_t size = bytes.size();
  transfer::TarReader reader([&](std::span<char> out) {
    const std::size_t some = std::min(out.size(), bytes.size());
    std::copy_n(bytes.begin(), some, out.begin());
    bytes.remove_prefix(some);
    return some;
  });
  std::array<char, 1000> piece{};
  std::size_t entries = 0;
  while (const auto entry = reader.next()) {
    if (++entries > size / kHeader) std::abort();
    reader.read(piece);
  }
} catch (const fastgpu::Error&) {
}

void unpack(std::string_view bytes) try {
  const fastgpu::UniqueFd file(::memfd_create("packed", MFD_CLOEXEC));
  if (::write(file.get(), bytes.data(), bytes.size()) < 0) return;
  ::lseek(file.get(), 0, SEEK_SET);
  transfer::PackedStream stream(file.get());
  std::array<char, 10'000> piece{};
  for (int read = 0; read < 1000 && stream.read(piece) == piece.size(); ++read) {
  }
} catch (const fastgpu::Error&) {
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_tar(bytes);
  unpack(bytes);
  return 0;
}
