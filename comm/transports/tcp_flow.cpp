#include "comm/transports/tcp_flow.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "comm/transports/tcp_socket.hpp"

namespace fastgpu::comm {
namespace {

/// Bytes that a connection holds and has not sent: what is behind them could have gone by another.
constexpr int kMostUnsent = 256 << 10;

/// A frame that is not longer is copied before it is sent, which takes less time than a second
/// range.
constexpr std::size_t kMostCopied = 1 << 10;

/// The frames that are read in one go before other connections have their turn. More are read if
/// they have arrived already, because poll() would not report them.
constexpr int kFramesATurn = 32;

}  // namespace

TcpFlow::TcpFlow(UniqueFd socket, LinkCounters& link)
    : Flow(link),
      socket_(std::move(socket)),
      is_within_host_(comm::is_within_host(socket_.get())),
      ahead_(std::make_unique_for_overwrite<std::byte[]>(kMostReadAhead)) {
  set_option(TCP_NOTSENT_LOWAT, kMostUnsent);
}

/// Sets one of TCP's options. Fails on a socket that is not TCP's, which does not matter.
void TcpFlow::set_option(int option, int value) noexcept {
  ::setsockopt(socket_.get(), IPPROTO_TCP, option, &value, sizeof(value));
}

Flow::Remains TcpFlow::give_up() noexcept {
  Remains remains{.socket = std::move(socket_)};
  if (is_in_message()) remains.half_read = frame_;
  head_.clear();
  head_begin_ = 0;
  body_ = {};
  owner_ = nullptr;
  has_frame_ = has_target_ = false;
  rest_ = 0;
  ahead_begin_ = ahead_end_ = 0;
  return remains;
}

void TcpFlow::abandon() {
  head_.insert(head_.end(), body_.begin(), body_.end());
  body_ = {};
  owner_ = nullptr;
  if (!is_in_message()) return;
  frame_.offset += filled_;
  frame_.length -= static_cast<std::uint32_t>(std::exchange(filled_, 0));
  stage();
}

/// Returns whether a frame is being read straight to the memory of its message.
bool TcpFlow::is_in_message() const noexcept {
  return has_target_ && target_.data() != staged_.get();
}

void TcpFlow::end(int error) {
  has_ended_ = true;
  throw Error(ErrorKind::remote, std::generic_category().message(error));
}

/// Ends the flow because of an error of the socket. Only the first call after a fault returns it.
/// EPIPE shows that the peer had closed its side before.
void TcpFlow::fail(int error) {
  if (!has_ended_) has_failed_ = error != EPIPE;
  end(error);
}

/// Returns the bytes that a call has moved; 0 where it would have blocked.
std::size_t TcpFlow::moved(ssize_t result) {
  if (result >= 0) return static_cast<std::size_t>(result);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  fail(errno);
}

void TcpFlow::begin(const Frame& frame, std::span<const std::byte> body, Outgoing* owner) {
  add_header(frame);
  body_ = body;
  body_size_ = body.size();
  owner_ = owner;
  begun_bytes_ += kFrameBytes + frame.length;
  if (!is_about_waits(frame.kind)) message_bytes_ = begun_bytes_;
}

void TcpFlow::begin_copy(const Frame& frame, std::span<const std::byte> body) {
  begin(frame, {}, nullptr);
  head_.insert(head_.end(), body.begin(), body.end());
}

void TcpFlow::add_header(Frame frame) {
  if (is_idle()) {
    head_.clear();
    head_begin_ = 0;
  }
  const bool is_of_message = frame.kind == TcpFrameKind::chunk || frame.kind == TcpFrameKind::note;
  stream_.begin_frame(is_within_host_ && is_of_message && frame.length <= kShort);
  let_join(stream_.may_wait() && (are_joined_ || head_.empty()));
  frame.wants_acknowledgement = stream_.has_begun();
  const EncodedFrame header = encode(frame);
  head_.insert(head_.end(), header.begin(), header.end());
}

/// Lets TCP join short frames while one is not acknowledged (Nagle's algorithm, RFC 896), or sends
/// those that it holds back, and all later ones at once. A reader acknowledges what it reads, so
/// that none waits for the 40 ms within which TCP does so anyway.
void TcpFlow::let_join(bool may_join) noexcept {
  if (may_join == are_joined_) return;
  are_joined_ = may_join;
  set_option(TCP_NODELAY, !may_join);
}

/// Sends `head` and then `body`. The kernel takes one range with less work than two.
ssize_t TcpFlow::send(std::span<const std::byte> head, std::span<const std::byte> body) {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  if (body.empty()) return ::send(socket_.get(), head.data(), head.size(), kFlags);
  std::array<std::byte, kMostCopied> copy;
  if (head.size() + body.size() <= copy.size()) {
    const auto end = std::ranges::copy(head, copy.begin()).out;
    std::ranges::copy(body, end);
    return ::send(socket_.get(), copy.data(), head.size() + body.size(), kFlags);
  }
  iovec parts[2] = {{const_cast<std::byte*>(head.data()), head.size()},
                    {const_cast<std::byte*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  return ::sendmsg(socket_.get(), &message, kFlags);
}

bool TcpFlow::write() {
  while (!is_idle()) {
    const std::size_t head_left = head_.size() - head_begin_;
    const std::size_t written = moved(send(std::span(head_).subspan(head_begin_), body_));
    if (written == 0) return false;
    written_bytes_ += written;
    const std::size_t of_head = std::min(written, head_left);
    head_begin_ += of_head;
    body_ = body_.subspan(written - of_head);
  }
  return true;
}

bool TcpFlow::is_quiet() const noexcept {
  const std::optional<std::size_t> on_its_way = bytes_on_their_way(socket_.get());
  return on_its_way && message_bytes_ + *on_its_way <= written_bytes_;
}

bool TcpFlow::is_silent() const noexcept {
  return comm::is_silent(socket_.get());
}

/// Fills `into`, and then `ahead`, the room for what is read ahead; returns the bytes of `into`.
std::size_t TcpFlow::receive(std::span<std::byte> into, std::span<std::byte> ahead) {
  ssize_t result = 0;
  if (into.empty()) {
    result = ::recv(socket_.get(), ahead.data(), ahead.size(), MSG_DONTWAIT);
  } else {
    iovec parts[2] = {{into.data(), into.size()}, {ahead.data(), ahead.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    result = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  }
  if (result == 0) end(ECONNRESET);
  const std::size_t read = moved(result);
  is_drained_ = read < into.size() + ahead.size();
  if (does_peer_wait_ && is_drained_) acknowledge();
  const std::size_t of_body = std::min(read, into.size());
  ahead_end_ += read - of_body;
  return of_body;
}

bool TcpFlow::read(FrameEvents& events) {
  bool has_moved = false;
  is_drained_ = has_left_ = false;
  for (int i = 0; i < kFramesATurn || ahead_end_ - ahead_begin_ >= kFrameBytes; ++i) {
    if (!has_target_ && !events.may_read()) return has_moved;
    if (!has_frame_) {
      const bool has_header = ahead_end_ - ahead_begin_ >= kFrameBytes;
      if (events.has_enough()) {
        has_left_ = has_header;
        return has_moved;
      }
      if (!has_header && !is_drained_) has_moved = read_ahead() || has_moved;
      if (ahead_end_ - ahead_begin_ < kFrameBytes) return has_moved;
      EncodedFrame header;
      take_ahead(header);
      frame_ = decode_frame(header);
      if (frame_.kind == TcpFrameKind::chunk) are_short_ = frame_.length <= kShort;
      has_frame_ = true;
      stream_.received();
      let_join(false);
      if (frame_.wants_acknowledgement && !does_peer_wait_) acknowledge();
      does_peer_wait_ = frame_.wants_acknowledgement;
    }
    if (!has_target_ && !find_target(events, i >= kFramesATurn)) return has_moved;
    const std::size_t before = filled_;
    const bool is_whole = read_body(events);
    has_moved = has_moved || filled_ != before || is_whole;
    if (!is_whole) return has_moved;
  }
  return true;
}

/// Begins the part of a long chunk that follows; returns false after the last one.
bool TcpFlow::begin_next_part() noexcept {
  if (rest_ == 0) return false;
  frame_.offset += frame_.length;
  frame_.length = static_cast<std::uint32_t>(std::exchange(rest_, 0));
  return true;
}

/// Returns whether the frame is to be read. The rest of one that is not makes the socket readable.
bool TcpFlow::find_target(FrameEvents& events, bool is_turn_over) {
  const bool has_rest = frame_.length > ahead_end_ - ahead_begin_;
  if (!are_short_ && has_rest && (is_turn_over || events.may_stay(frame_))) return false;
  has_target_ = true;
  filled_ = 0;
  target_ = events.target_of(frame_);
  if (target_.empty()) stage();
  return true;
}

/// Reads the frame to the flow's own buffer, a part at a time: a part stays in the caches until it
/// is added or copied.
void TcpFlow::stage() {
  if (!staged_) staged_ = std::make_unique<std::byte[]>(kChunkBytes);
  rest_ = frame_.length - std::min<std::size_t>(frame_.length, kChunkBytes);
  frame_.length -= static_cast<std::uint32_t>(rest_);
  target_ = {staged_.get(), frame_.length};
}

/// Returns the room for what is read ahead. What is ahead of a long frame would be copied once
/// more.
std::span<std::byte> TcpFlow::room_ahead() const noexcept {
  return {ahead_.get() + ahead_end_, (are_short_ ? kMostReadAhead : kShort) - ahead_end_};
}

/// Short frames, and the headers of long ones, come many at a time.
bool TcpFlow::read_ahead() {
  const std::size_t left = ahead_end_ - ahead_begin_;
  std::memmove(ahead_.get(), ahead_.get() + ahead_begin_, left);
  ahead_begin_ = 0;
  ahead_end_ = left;  // What was there before is not read again, even if the connection has ended.
  receive({}, room_ahead());
  return ahead_end_ > left;
}

/// True once the frame is whole, and handed over.
bool TcpFlow::read_body(FrameEvents& events) {
  const std::size_t ready = std::min(frame_.length - filled_, ahead_end_ - ahead_begin_);
  take_ahead(target_.subspan(filled_, ready));
  filled_ += ready;
  while (filled_ < frame_.length) {
    if (is_drained_) return false;
    ahead_begin_ = ahead_end_ = 0;
    // The header of the next chunk comes with this one.
    filled_ += receive(target_.subspan(filled_), room_ahead());
  }
  has_target_ = false;
  const Frame read = frame_;  // The receiver of the frame may close this flow.
  has_frame_ = begin_next_part();
  events.arrived(read, target_);
  return true;
}

void TcpFlow::take_ahead(std::span<std::byte> into) noexcept {
  if (!into.empty()) std::memcpy(into.data(), ahead_.get() + ahead_begin_, into.size());
  ahead_begin_ += into.size();
}

}  // namespace fastgpu::comm
