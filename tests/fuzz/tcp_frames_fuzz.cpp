// What another rank may send over a connection while this one waits for messages from it.
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "awaited_messages.hpp"
#include "comm/transports/tcp_transport.hpp"

namespace comm = fastgpu::comm;

namespace {

class Nobody final : public fastgpu::fuzz::CheckedEvents<comm::ControlEvents> {
 public:
  void on_question(comm::Rank, std::span<const std::byte>) override {}
  void on_answer(comm::Rank, std::span<const std::byte>) override {}
  void on_abort(comm::Rank, std::span<const std::byte>) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  const fastgpu::UniqueFd far_end(ends[1]);
  std::vector<std::vector<fastgpu::UniqueFd>> sockets(2);
  sockets[1].emplace_back(ends[0]);
  Nobody nobody;
  comm::TcpTransport transport(std::move(sockets), nobody, nobody);
  fastgpu::fuzz::AwaitedMessages({0, 10, 300, 30'000}).await(transport, [&] {
    [[maybe_unused]] const ssize_t said =
        ::send(far_end.get(), data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  });
  return 0;
}
