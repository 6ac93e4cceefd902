// What another rank may send over a connection while this one waits for messages from it.
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
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

/// Sends the bytes by the first of `flows` connections.
void send_by_first(std::size_t flows, comm::Confirmation confirmation,
                   std::span<const std::uint8_t> bytes) {
  std::vector<fastgpu::UniqueFd> far_ends;
  std::vector<std::vector<fastgpu::UniqueFd>> sockets(2);
  while (far_ends.size() < flows) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    far_ends.emplace_back(ends[1]);
    sockets[1].emplace_back(ends[0]);
  }
  Nobody nobody;
  comm::TcpTransport transport(std::move(sockets), nobody, nobody, confirmation);
  fastgpu::fuzz::AwaitedMessages({0, 10, 300, 30'000}).await(transport, [&] {
    [[maybe_unused]] const ssize_t said =
        ::send(far_ends.front().get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  send_by_first(1, comm::Confirmation::none, {data, size});
  send_by_first(3, comm::Confirmation::of_frames, {data, size});
  return 0;
}
