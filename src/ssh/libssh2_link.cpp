#include "ssh/libssh2_link.hpp"

#include <libssh2.h>

#include <cstdlib>

namespace fastgpu::ssh {
namespace {

constexpr unsigned kWindow = 4U * 1024 * 1024;   // 1 GB/s over a round trip of 4 ms.
constexpr std::size_t kLongestCommand = 32'000;  // The size limit of a packet of libssh2.

}  // namespace

Exit exit_of(_LIBSSH2_CHANNEL* channel) {
  Exit exit;
  char* signal = nullptr;
  std::size_t size = 0;
  libssh2_channel_get_exit_signal(channel, &signal, &size, nullptr, nullptr, nullptr, nullptr);
  if (signal != nullptr) {
    exit.signal.assign(signal, size);
    std::free(signal);  // The session was made with the standard allocator.
  } else {
    exit.status = libssh2_channel_get_exit_status(channel);
  }
  return exit;
}

bool Libssh2Link::open() {
  LIBSSH2_SESSION* const session = connection_->session().get();
  channel_.reset(libssh2_channel_open_ex(session, "session", 7, kWindow,
                                         LIBSSH2_CHANNEL_PACKET_DEFAULT, nullptr, 0));
  if (channel_) return true;
  if (libssh2_session_last_errno(session) == LIBSSH2_ERROR_EAGAIN) return false;
  throw error(
      ErrorKind::transient,
      "sshd opens no further session on a connection: " + connection_->session().last_error() +
          " (its MaxSessions must be 2 or more, and is 10 by default)");
}

bool Libssh2Link::start() {
  if (line_.size() > kLongestCommand)
    throw error(ErrorKind::usage, "the command has " + std::to_string(line_.size()) +
                                      " bytes; SSH carries at most " +
                                      std::to_string(kLongestCommand));
  const int code = libssh2_channel_process_startup(channel_.get(), "exec", 4, line_.data(),
                                                   static_cast<unsigned>(line_.size()));
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code != 0)
    throw error(ErrorKind::remote,
                "refuses to run commands: " + connection_->session().last_error());
  return true;
}

std::size_t Libssh2Link::read(Output from, std::span<char> buffer) {
  const int stream = from == Output::out ? 0 : SSH_EXTENDED_DATA_STDERR;
  const ssize_t size =
      libssh2_channel_read_ex(channel_.get(), stream, buffer.data(), buffer.size());
  if (size == LIBSSH2_ERROR_EAGAIN || size == 0) return 0;
  if (size < 0) throw connection_lost();
  return static_cast<std::size_t>(size);
}

bool Libssh2Link::at_end() const {
  return libssh2_channel_eof(channel_.get()) != 0;
}

std::optional<std::size_t> Libssh2Link::write(std::string_view bytes) {
  const ssize_t size = libssh2_channel_write(channel_.get(), bytes.data(), bytes.size());
  if (size == LIBSSH2_ERROR_EAGAIN || size == 0) return 0;
  if (size < 0 && lost()) throw connection_lost();
  if (size < 0) return std::nullopt;
  return static_cast<std::size_t>(size);
}

void Libssh2Link::close_input() {
  libssh2_channel_send_eof(channel_.get());  // This never has to wait: see Session::can_send.
}

std::optional<Exit> Libssh2Link::closed() {
  const int code = libssh2_channel_wait_closed(channel_.get());
  if (code == LIBSSH2_ERROR_EAGAIN) return std::nullopt;
  if (code != 0) throw connection_lost();
  return exit_of(channel_.get());
}

std::unique_ptr<Connection> Libssh2Link::take_connection() {
  channel_.reset();
  connection_->flush();
  if (lost()) return nullptr;
  connection_->session().rest();
  return std::move(connection_);
}

Error Libssh2Link::connection_lost() const {
  return error(ErrorKind::transient, "connection lost while the command ran");
}

}  // namespace fastgpu::ssh
