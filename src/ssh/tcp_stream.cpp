#include "ssh/tcp_stream.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "base/socket_broker.hpp"

namespace fastgpu::ssh {
namespace {

void set_option(int fd, int level, int name, int value) noexcept {
  ::setsockopt(fd, level, name, &value, sizeof value);  // A refused option only costs speed.
}

void tune(int fd) noexcept {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // A peer that has disappeared without notice is detected within 35 s.
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 35'000);
}

UniqueFd socket_behind(const std::filesystem::path& broker) {
  UniqueFd socket;
  if (const UniqueFd connection = connect_to_broker(broker)) socket = receive_socket(connection);
  if (!socket)
    throw Error(ErrorKind::transient,
                "no answer at " + broker.string() + ", the way to this host: is it running?");
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  return socket;
}

Error connect_error(int error_number) {
  if (error_number == EMFILE || error_number == ENFILE)
    return system_error("opening a connection", error_number);
  std::string reason = std::generic_category().message(error_number);
  if (error_number == ECONNREFUSED) reason = "connection refused; does sshd run there?";
  return {ErrorKind::transient, reason};
}

}  // namespace

void TcpStream::start_next_address() {
  const SocketAddress& address = resolution_.addresses().at(next_address_);
  constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  socket_ = broker_.empty() ? UniqueFd(::socket(address.storage.ss_family, kType, IPPROTO_TCP))
                            : socket_behind(broker_);
  if (!socket_) {
    next_address_after(errno);
    return;
  }
  tune(socket_.get());
  if (::connect(socket_.get(), address.get(), address.size) == 0) {
    connected_ = true;
  } else if (errno != EINPROGRESS && errno != EINTR) {
    next_address_after(errno);
  }
}

void TcpStream::next_address_after(int error_number) {
  if (++next_address_ >= resolution_.addresses().size()) throw connect_error(error_number);
  start_next_address();
}

bool TcpStream::connect() {
  if (connected_) return true;
  if (!resolution_.done()) return false;
  if (!socket_) {
    start_next_address();
    return connected_;
  }
  pollfd ready{socket_.get(), POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return false;
  int failure = 0;
  socklen_t size = sizeof failure;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
  if (failure == 0) {
    connected_ = true;
  } else {
    next_address_after(failure);
  }
  return connected_;
}

ssize_t TcpStream::read_some(char* buffer, std::size_t size) {
  ssize_t moved = 0;
  do {
    moved = ::recv(socket_.get(), buffer, size, 0);
  } while (moved < 0 && errno == EINTR);
  if (moved < 0) return -errno;
  // sshd delays small packets until our acknowledgement, which the kernel would delay by 40 ms.
  if (static_cast<std::size_t>(moved) < size)
    set_option(socket_.get(), IPPROTO_TCP, TCP_QUICKACK, 1);
  return moved;
}

ssize_t TcpStream::write_some(const char* data, std::size_t size) {
  ssize_t moved = 0;
  do {
    moved = ::send(socket_.get(), data, size, MSG_NOSIGNAL);
  } while (moved < 0 && errno == EINTR);
  const int error_number = moved < 0 ? errno : 0;
  write_blocked_ = error_number == EAGAIN || (moved >= 0 && static_cast<std::size_t>(moved) < size);
  return moved < 0 ? -error_number : moved;
}

pollfd TcpStream::wanted() const {
  // The answer may have come after connect() checked for it. The descriptor stays readable.
  if (!socket_ && resolution_.fd() >= 0) return {resolution_.fd(), POLLIN, 0};
  if (!connected_) return {socket_.get(), POLLOUT, 0};
  return {socket_.get(), static_cast<short>(write_blocked_ ? POLLIN | POLLOUT : POLLIN), 0};
}

void TcpStream::shut() noexcept {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace fastgpu::ssh
