// Two things that ranks send each other about a fabric: the card of an endpoint, and frames.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attempt.hpp"
#include "comm/fabric/card.hpp"
#include "comm/transports/fabric_frame.hpp"

namespace comm = fastgpu::comm;
using fastgpu::ErrorKind;

namespace {

using Bytes = std::span<const std::byte>;

void require_same(Bytes encoded, Bytes bytes) {
  if (!std::ranges::equal(encoded, bytes)) __builtin_trap();
}

void read_card(Bytes bytes) {
  const comm::fabric::Card card = comm::fabric::decode_card(bytes);
  if (bytes.size() > comm::fabric::kMaxCard) __builtin_trap();
  require_same(comm::fabric::encode(card), bytes);
}

void read_frame(Bytes bytes) {
  comm::FabricSender sender;
  const bool is_ours = comm::read_sender(bytes, sender);
  const comm::FabricFrame frame = comm::decode_fabric_frame(bytes);
  if (!is_ours || sender.rank != frame.rank || sender.token != frame.token) __builtin_trap();
  const auto& grant = frame.grant;
  if (frame.kind == comm::FabricFrameKind::grant &&
      (grant.length == 0 || grant.length > comm::kFabricPiece || grant.offset > grant.total ||
       grant.total - grant.offset < grant.length))
    __builtin_trap();
  std::vector<std::byte> again(comm::kFabricFrameBytes);
  again.resize(comm::encode(frame, again));
  require_same(again, bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  fastgpu::fuzz::attempt<ErrorKind::remote>([&] { read_card(bytes); });
  fastgpu::fuzz::attempt<ErrorKind::remote>([&] { read_frame(bytes); });
  return 0;
}
