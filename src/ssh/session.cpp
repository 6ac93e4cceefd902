#include "ssh/session.hpp"

#include <libssh2.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/error.hpp"
#include "ssh/algorithms.hpp"

namespace fastgpu::ssh {
namespace {

constexpr std::size_t kReadAhead = 64UL * 1024;
constexpr std::size_t kFirstBytes = 8UL * 1024;
// The maximum number of bytes of output that are held back within one round.
constexpr std::size_t kGathered = 64UL * 1024;

extern "C" ssize_t receive_callback(libssh2_socket_t, void* buffer, std::size_t size, int,
                                    void** self) noexcept try {
  return static_cast<Session*>(*self)->receive(static_cast<char*>(buffer), size);
} catch (...) {
  return -ENOMEM;
}

extern "C" ssize_t send_callback(libssh2_socket_t, const void* data, std::size_t size, int,
                                 void** self) noexcept try {
  return static_cast<Session*>(*self)->send(static_cast<const char*>(data), size);
} catch (...) {
  return -ENOMEM;
}

void start_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (libssh2_init(0) != 0) throw Error(ErrorKind::local, "libssh2 does not start");
  });
}

/// Returns a function as void*, which libssh2 needs for its callbacks.
template <class Function>
void* as_callback(Function* function) noexcept {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void Session::Release::operator()(_LIBSSH2_SESSION* session) const noexcept {
  libssh2_session_free(session);
}

void ReleaseChannel::operator()(_LIBSSH2_CHANNEL* channel) const noexcept {
  libssh2_channel_free(channel);  // The memory that stays after EAGAIN is freed with the session.
}

Session::Session(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {
  start_library();
  session_.reset(libssh2_session_init_ex(nullptr, nullptr, nullptr, this));
  if (!session_) throw Error(ErrorKind::capacity, "no memory for a session");
  LIBSSH2_SESSION* const raw = session_.get();
  libssh2_session_set_blocking(raw, 0);
  libssh2_session_callback_set(raw, LIBSSH2_CALLBACK_RECV, as_callback(&receive_callback));
  libssh2_session_callback_set(raw, LIBSSH2_CALLBACK_SEND, as_callback(&send_callback));
  libssh2_session_method_pref(raw, LIBSSH2_METHOD_KEX, kKeyExchange);
  libssh2_session_method_pref(raw, LIBSSH2_METHOD_HOSTKEY, kHostKeyType);
  for (const int method : {LIBSSH2_METHOD_CRYPT_CS, LIBSSH2_METHOD_CRYPT_SC})
    libssh2_session_method_pref(raw, method, kCiphers);
  for (const int method : {LIBSSH2_METHOD_MAC_CS, LIBSSH2_METHOD_MAC_SC})
    libssh2_session_method_pref(raw, method, kMacs);
}

Session::~Session() {
  // Without the connection libssh2 only frees memory; otherwise it would wait for answers of the
  // other side.
  lost_ = true;
  failure_ = -ENOTCONN;
  stream_->shut();
}

void Session::woken() {
  input_dry_ = false;
  refused_ = false;
  stream_->woken();
}

void Session::refill() {
  input_.resize(kReadAhead);
  input_at_ = 0;
  const ssize_t size = stream_->read_some(input_.data(), input_.size());
  input_.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  if (size == -EAGAIN || (size > 0 && input_.size() < kReadAhead)) input_dry_ = true;
  if (first_bytes_.size() < kFirstBytes)
    first_bytes_.append(input_, 0, kFirstBytes - first_bytes_.size());
  if (size == 0) failed(-ECONNRESET);
  if (size < 0 && size != -EAGAIN) failed(size);
}

ssize_t Session::failed(ssize_t code) noexcept {
  lost_ = true;
  failure_ = code;
  return code;
}

ssize_t Session::receive(char* buffer, std::size_t size) {
  if (input_at_ == input_.size()) {
    if (lost_) return failure_;
    if (input_dry_) return -EAGAIN;
    refill();
    if (input_.empty()) return lost_ ? failure_ : -EAGAIN;
  }
  const std::size_t taken = std::min(size, input_.size() - input_at_);
  std::memcpy(buffer, input_.data() + input_at_, taken);
  input_at_ += taken;
  return static_cast<ssize_t>(taken);
}

ssize_t Session::send(const char* data, std::size_t size) {
  if (lost_) return failure_;
  output_.append(data, size);
  return static_cast<ssize_t>(size);
}

bool Session::can_send() {
  if (output_.size() >= kGathered) drain();
  // If the connection is lost, the next call fails with that error.
  const bool room = lost_ || output_.size() < kGathered;
  if (!room) refused_ = true;
  return room;
}

void Session::drain() {
  if (output_.empty() || lost_) return;
  const ssize_t size = stream_->write_some(output_.data(), output_.size());
  if (size > 0) output_.erase(0, static_cast<std::size_t>(size));
  if (size < 0 && size != -EAGAIN) failed(size);
}

void Session::flush() {
  if (!refused_) drain();
  stream_->flush();
}

void Session::rest() {
  first_bytes_.clear();
  first_bytes_.shrink_to_fit();
  if (input_at_ < input_.size() || !output_.empty()) return;
  input_ = {};
  input_at_ = 0;
  output_ = {};
}

std::string Session::last_error() const {
  char* text = nullptr;
  int size = 0;
  libssh2_session_last_error(session_.get(), &text, &size, 0);
  if (text == nullptr || size <= 0) return "no reason given";
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace fastgpu::ssh
