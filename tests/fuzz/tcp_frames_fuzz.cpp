// What another rank may send over a connection while this one waits for messages from it.
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/transports/tcp_rail.hpp"

namespace comm = fastgpu::comm;

namespace {

class Nobody final : public comm::RailEvents, public comm::Talk {
 public:
  void sent(comm::Outgoing&) override {}
  void received(comm::Incoming& message) override {
    if (message.moved != message.sink.memory.size()) __builtin_trap();
  }
  void noted(comm::Rank, comm::MessageTag, const comm::Note&) override {}
  void lost(comm::Rank, const fastgpu::Error& e) override {
    if (e.kind() != fastgpu::ErrorKind::remote) __builtin_trap();
  }
  void asked_whether_waiting(comm::Rank) override {}
  void answered_to_be_waiting(comm::Rank) override {}
  void said_farewell(comm::Rank, std::span<const std::byte>) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  const fastgpu::UniqueFd far_end(ends[1]);
  std::vector<std::vector<fastgpu::UniqueFd>> sockets(2);
  sockets[1].emplace_back(ends[0]);
  Nobody nobody;
  comm::TcpRail rail(std::move(sockets), nobody, nobody);

  std::array<std::vector<float>, 4> memory{std::vector<float>(0), std::vector<float>(10),
                                           std::vector<float>(300), std::vector<float>(30'000)};
  std::array<comm::Incoming, 4> wanted;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i].peer = {1};
    wanted[i].tag = {i};
    wanted[i].sink.memory = std::as_writable_bytes(std::span(memory[i]));
    if (i % 2 == 0) wanted[i].sink.reduction = {comm::ElementType::float32, comm::ReduceOp::sum};
    if (i != 1) rail.receive(wanted[i]);
  }
  const ssize_t said = ::send(far_end.get(), data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (said < 0) return 0;
  while (rail.progress()) {
  }
  rail.receive(wanted[1]);
  return 0;
}
