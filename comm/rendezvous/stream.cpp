#include "comm/rendezvous/stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "comm/common/interrupt.hpp"

namespace fastgpu::comm {
namespace {

void wait_for(int socket, short events, Deadline deadline) {
  pollfd end{socket, events, 0};
  const int ready = poll_until({&end, 1}, deadline);
  if (ready < 0) throw system_error("waiting for another rank", errno);
  if (ready == 0) throw Error(ErrorKind::timeout, "no answer in time");
}

/// True where a send or recv that returned -1 is to be repeated once the socket is ready.
bool would_block() {
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return true;
  throw Error(ErrorKind::transient, std::generic_category().message(errno));
}

}  // namespace

void send_all(int socket, std::span<const std::byte> message, Deadline deadline) {
  while (!message.empty()) {
    const ssize_t sent = ::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      message = message.subspan(static_cast<std::size_t>(sent));
    else if (would_block())
      wait_for(socket, POLLOUT, deadline);
  }
}

void receive_all(int socket, std::span<std::byte> message, Deadline deadline) {
  while (!message.empty()) {
    const ssize_t received = ::recv(socket, message.data(), message.size(), 0);
    if (received == 0) throw Error(ErrorKind::transient, "the connection was closed");
    if (received > 0)
      message = message.subspan(static_cast<std::size_t>(received));
    else if (would_block())
      wait_for(socket, POLLIN, deadline);
  }
}

bool is_readable(int socket, Deadline deadline) {
  pollfd end{socket, POLLIN, 0};
  const int ready = poll_until({&end, 1}, deadline);
  if (ready < 0) throw system_error("waiting for another rank", errno);
  return ready > 0;
}

Error as_lost(const Error& error) {
  if (error.kind() != ErrorKind::transient) return error;
  return {ErrorKind::remote, std::string("it has gone: ") + error.what()};
}

}  // namespace fastgpu::comm
