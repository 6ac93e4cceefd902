// What the other end of a copy may send, in pieces. The first byte says of what size, and whether
// we pack the rest, so that nonsense is met inside of what was packed, too.
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "transfer/record.hpp"

namespace transfer = fastgpu::transfer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) try {
  if (size == 0) return 0;
  const std::size_t piece = 1U + data[0] / 2U;
  transfer::Packer packer;
  std::string stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 != 0) stream = pack_records(std::move(stream), packer);
  transfer::Decoder decoder;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    decoder.add(std::string_view(stream).substr(at, piece));
    while (decoder.next()) {
    }
  }
  return 0;
} catch (const fastgpu::Error&) {
  return 0;
}
