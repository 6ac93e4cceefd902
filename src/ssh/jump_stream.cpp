#include "ssh/jump_stream.hpp"

#include <libssh2.h>

#include <cerrno>

namespace fastgpu::ssh {
namespace {

/// Returns a count of bytes unchanged, and a code of libssh2 as -errno.
ssize_t as_errno(ssize_t code) noexcept {
  if (code >= 0) return code;
  return code == LIBSSH2_ERROR_EAGAIN ? -EAGAIN : -ECONNRESET;
}

}  // namespace

bool JumpStream::connect() {
  if (channel_) return true;
  if (!jump_->advance()) return false;
  LIBSSH2_SESSION* const session = jump_->session().get();
  channel_.reset(libssh2_channel_direct_tcpip(session, target_.address.c_str(), int{target_.port}));
  if (channel_) return true;
  if (libssh2_session_last_errno(session) == LIBSSH2_ERROR_EAGAIN) return false;
  throw jump_->error(ErrorKind::transient,
                     "no way on to " + place(target_) + ": " + jump_->session().last_error());
}

ssize_t JumpStream::read_some(char* buffer, std::size_t size) {
  if (!channel_) return -ENOTCONN;
  const ssize_t moved = libssh2_channel_read(channel_.get(), buffer, size);
  if (moved == 0 && libssh2_channel_eof(channel_.get()) == 0) return -EAGAIN;
  return as_errno(moved);
}

ssize_t JumpStream::write_some(const char* data, std::size_t size) {
  if (!channel_) return -ENOTCONN;
  std::size_t done = 0;
  while (done < size) {
    if (!jump_->session().can_send()) return done > 0 ? static_cast<ssize_t>(done) : -EAGAIN;
    const ssize_t moved = libssh2_channel_write(channel_.get(), data + done, size - done);
    if (moved <= 0) return done > 0 ? static_cast<ssize_t>(done) : as_errno(moved);
    done += static_cast<std::size_t>(moved);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace fastgpu::ssh
