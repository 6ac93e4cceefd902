#include "transfer/tunnel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace fastgpu::transfer {
namespace {

/// A frame consists of its kind, the number of the stream, the length of the payload, and the
/// payload.
constexpr char kOpen = 'o';
constexpr char kData = 'd';
constexpr char kEnd = 'e';     // The end of the stream's data.
constexpr char kCredit = 'c';  // The number of bytes taken.
constexpr char kReset = 'r';   // The stream is gone.
constexpr std::size_t kTunnelHeader = 9;
constexpr std::size_t kTunnelPiece = 64UL << 10;
constexpr std::size_t kMostOutput = std::size_t{1} << 20;

void add_number(std::string& text, std::uint32_t number) {
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    text += static_cast<char>(number >> shift & 255U);
}

std::uint32_t number_in(std::string_view text) {
  std::uint32_t number = 0;
  for (const char c : text.substr(0, 4))
    number = number << 8U | static_cast<unsigned char>(c);
  return number;
}

void make_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
    throw system_error("preparing a tunnel", errno);
}

bool is_dry(int error_number) {
  return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

Error nonsense(const std::string& what) {
  return {ErrorKind::remote, "the other end of the tunnel sends " + what};
}

}  // namespace

Tunnel::Tunnel(int in, int out, int listener, OnOpen on_open)
    : in_(in), out_(out), listener_(listener), on_open_(std::move(on_open)) {
  make_nonblocking(in_);
  make_nonblocking(out_);
  if (listener_ >= 0) make_nonblocking(listener_);
}

void Tunnel::serve(const Cancel& cancel) {
  while (!ended_ && !cancel.requested())
    wait(cancel);
}

bool Tunnel::has_room() const noexcept {
  return output_.size() < kMostOutput;
}

/// Polls all descriptors once and moves all bytes that can be moved. Always reads the other end's
/// bytes: if both ends waited for room for their output, neither would proceed. The windows limit
/// the memory.
void Tunnel::wait(const Cancel& cancel) {
  std::vector<pollfd> polled = {{cancel.fd(), POLLIN, 0},
                                {in_, POLLIN, 0},
                                {output_.empty() ? -1 : out_, POLLOUT, 0},
                                {streams_.size() < kMostStreams ? listener_ : -1, POLLIN, 0}};
  std::vector<std::uint32_t> ids;
  for (const auto& [id, stream] : streams_) {
    const bool reads = !stream.is_read_out && stream.credit > 0 && has_room();
    const int events = (reads ? POLLIN : 0) | (stream.waiting.empty() ? 0 : POLLOUT);
    polled.push_back({events == 0 ? -1 : stream.fd.get(), static_cast<short>(events), 0});
    ids.push_back(id);
  }
  if (::poll(polled.data(), polled.size(), -1) < 0) return;  // A signal.
  if (polled[1].revents != 0) read_frames();
  if (polled[3].revents != 0) accept_one();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto found = streams_.find(ids[i]);
    const short events = polled[i + 4].revents;
    if (found != streams_.end() && events != 0 && !step(ids[i], found->second, events))
      streams_.erase(found);
  }
  write_out();
}

void Tunnel::accept_one() {
  UniqueFd fd(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return;
  streams_.emplace(++last_, Stream{.fd = std::move(fd), .credit = kTunnelWindow});
  put(kOpen, last_);
}

void Tunnel::read_frames() {
  std::array<char, kTunnelPiece> piece{};
  const ssize_t count = ::read(in_, piece.data(), piece.size());
  if (count < 0 && is_dry(errno)) return;
  if (count <= 0) {
    ended_ = true;
    return;
  }
  input_.append(piece.data(), static_cast<std::size_t>(count));
  std::size_t at = 0;
  while (input_.size() - at >= kTunnelHeader) {
    const std::string_view frame = std::string_view(input_).substr(at);
    const std::size_t length = number_in(frame.substr(5));
    if (length > kTunnelPiece) throw nonsense("a piece of " + std::to_string(length) + " bytes");
    if (frame.size() < kTunnelHeader + length) break;
    take(frame[0], number_in(frame.substr(1)), frame.substr(kTunnelHeader, length));
    at += kTunnelHeader + length;
  }
  input_.erase(0, at);
}

void Tunnel::take(char kind, std::uint32_t id, std::string_view payload) {
  if (kind == kOpen) return open(id);
  const auto found = streams_.find(id);
  if (std::string_view("decr").find(kind) == std::string_view::npos)
    throw nonsense("no frame that is known");
  if (found == streams_.end()) return;  // It was reset here meanwhile.
  Stream& stream = found->second;
  if (kind == kReset) {
    streams_.erase(found);
  } else if (kind == kData) {
    take_data(stream, id, payload);
  } else if (kind == kCredit) {
    take_credit(stream, payload);
  } else {
    stream.is_other_done = true;
    if (!write_waiting(id, stream)) streams_.erase(found);
  }
}

void Tunnel::open(std::uint32_t id) {
  if (listener_ >= 0 || id <= last_) throw nonsense("a stream that cannot be");
  last_ = id;
  UniqueFd fd = streams_.size() < kMostStreams ? on_open_() : UniqueFd();
  if (!fd) return put(kReset, id);
  make_nonblocking(fd.get());
  streams_.emplace(id, Stream{.fd = std::move(fd), .credit = kTunnelWindow});
}

void Tunnel::take_data(Stream& stream, std::uint32_t id, std::string_view payload) {
  if (stream.is_other_done || stream.waiting.size() + stream.taken + payload.size() > kTunnelWindow)
    throw nonsense("more than it may");
  stream.waiting += payload;
  if (!write_waiting(id, stream)) streams_.erase(id);
}

void Tunnel::take_credit(Stream& stream, std::string_view payload) {
  const std::size_t count = number_in(payload);
  if (payload.size() != 4 || count > kTunnelWindow - stream.credit)
    throw nonsense("a receipt for what it has not got");
  stream.credit += count;
}

/// Returns false once the stream is over.
bool Tunnel::step(std::uint32_t id, Stream& stream, short events) {
  if ((events & POLLOUT) != 0 && !write_waiting(id, stream)) return false;
  if ((events & (POLLIN | POLLHUP | POLLERR)) == 0) return true;
  if (stream.is_read_out || stream.credit == 0) return true;
  return read_some(id, stream);
}

/// Returns false once the stream is over.
bool Tunnel::write_waiting(std::uint32_t id, Stream& stream) {
  while (!stream.waiting.empty()) {
    const ssize_t count =
        ::send(stream.fd.get(), stream.waiting.data(), stream.waiting.size(), MSG_NOSIGNAL);
    if (count < 0 && is_dry(errno)) break;
    if (count < 0) {
      put(kReset, id);
      return false;
    }
    stream.waiting.erase(0, static_cast<std::size_t>(count));
    stream.taken += static_cast<std::size_t>(count);
  }
  if (stream.taken >= kTunnelWindow / 4) {
    std::string number;
    add_number(number, static_cast<std::uint32_t>(std::exchange(stream.taken, 0)));
    put(kCredit, id, number);
  }
  if (stream.is_other_done && stream.waiting.empty() && !stream.is_write_closed) {
    stream.is_write_closed = true;
    ::shutdown(stream.fd.get(), SHUT_WR);
  }
  return !(stream.is_write_closed && stream.is_read_out);
}

/// Returns false once the stream is over.
bool Tunnel::read_some(std::uint32_t id, Stream& stream) {
  std::array<char, kTunnelPiece> piece{};
  const ssize_t count =
      ::recv(stream.fd.get(), piece.data(), std::min(piece.size(), stream.credit), 0);
  if (count < 0 && is_dry(errno)) return true;
  if (count < 0) {
    put(kReset, id);
    return false;
  }
  if (count == 0) {
    stream.is_read_out = true;
    put(kEnd, id);
    return !stream.is_write_closed;
  }
  stream.credit -= static_cast<std::size_t>(count);
  put(kData, id, {piece.data(), static_cast<std::size_t>(count)});
  return true;
}

void Tunnel::put(char kind, std::uint32_t id, std::string_view payload) {
  output_ += kind;
  add_number(output_, id);
  add_number(output_, static_cast<std::uint32_t>(payload.size()));
  output_ += payload;
}

void Tunnel::write_out() {
  while (!output_.empty()) {
    const ssize_t count = ::write(out_, output_.data(), output_.size());
    if (count < 0 && is_dry(errno)) return;
    if (count < 0 && errno == EPIPE) {
      ended_ = true;
      return;
    }
    if (count < 0) throw system_error("writing to a tunnel", errno);
    output_.erase(0, static_cast<std::size_t>(count));
  }
}

}  // namespace fastgpu::transfer
