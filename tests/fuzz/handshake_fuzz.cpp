// What a stranger may send to a rank that waits for the others of its job.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "comm/rendezvous/handshake.hpp"

namespace comm = fastgpu::comm;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  comm::Message<comm::kHelloBytes> hello{};
  comm::Message<comm::kAnswerBytes> answer{};
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto head = bytes.first(std::min(bytes.size(), hello.size()));
  const auto rest = bytes.subspan(head.size());
  std::ranges::copy(head, hello.begin());
  std::ranges::copy(rest.first(std::min(rest.size(), answer.size())), answer.begin());

  const comm::PeerIdentity host{.rank = {0}, .size = 4, .secret = fastgpu::Secret("the job's own")};
  comm::ServerHandshake reception(host);
  if (!reception.challenge(hello)) return 0;
  if (reception.judge(answer) == comm::Refusal::none) __builtin_trap();
  return 0;
}
