#include "provision/providers/local/netlink.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::provision::local {
namespace {

constexpr std::size_t kReceiveBuffer = 256UL * 1024;  // A dump's part is at most 32 KiB.
// The number of messages in one batch: their acknowledgements must fit the socket's receive buffer.
constexpr std::size_t kBatch = 64;

template <class T>
T at(std::span<const std::byte> data, std::size_t offset) {
  T value{};
  std::memcpy(&value, data.data() + offset, sizeof value);
  return value;
}

std::size_t aligned(std::size_t size) {
  return (size + 3) & ~std::size_t{3};
}

/// Calls `visit` with the header and the payload of each message in `data`.
template <class Visit>
void for_each_message(std::span<const std::byte> data, Visit visit) {
  while (data.size() >= sizeof(nlmsghdr)) {
    const auto header = at<nlmsghdr>(data, 0);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > data.size()) return;
    visit(header, data.subspan(sizeof header, header.nlmsg_len - sizeof header));
    data = data.subspan(std::min(aligned(header.nlmsg_len), data.size()));
  }
}

}  // namespace

void NetlinkMessage::append(const void* data, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), first, first + size);
  bytes_.resize(aligned(bytes_.size()));
}

NetlinkMessage& NetlinkMessage::put_bytes(int type, const void* data, std::size_t size) {
  const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + size),
                      static_cast<std::uint16_t>(type)};
  append(&header, sizeof header);
  if (size > 0) append(data, size);
  return *this;
}

NetlinkMessage& NetlinkMessage::put_text(int type, std::string_view text) {
  std::vector<char> terminated(text.begin(), text.end());
  terminated.push_back('\0');
  return put_bytes(type, terminated.data(), terminated.size());
}

NetlinkMessage& NetlinkMessage::nest(int type, const std::function<void(NetlinkMessage&)>& fill) {
  const std::size_t start = bytes_.size();
  put_bytes(type, nullptr, 0);
  fill(*this);
  const auto size = static_cast<std::uint16_t>(bytes_.size() - start);
  std::memcpy(bytes_.data() + start, &size, sizeof size);
  return *this;
}

std::vector<std::byte> NetlinkMessage::bytes(std::uint32_t sequence) const {
  std::vector<std::byte> out = bytes_;
  auto header = at<nlmsghdr>(out, 0);
  header.nlmsg_len = static_cast<std::uint32_t>(out.size());
  header.nlmsg_seq = sequence;
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

std::uint32_t NetlinkAttribute::number() const noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, data.data(), std::min(data.size(), sizeof value));
  return value;
}

std::string_view NetlinkAttribute::text() const noexcept {
  // The language allows to read a byte as a char.
  const std::string_view all(reinterpret_cast<const char*>(data.data()), data.size());
  return all.substr(0, all.find('\0'));
}

std::vector<NetlinkAttribute> netlink_attributes(std::span<const std::byte> data) {
  std::vector<NetlinkAttribute> found;
  while (data.size() >= sizeof(nlattr)) {
    const auto header = at<nlattr>(data, 0);
    if (header.nla_len < sizeof(nlattr) || header.nla_len > data.size()) break;
    found.push_back({header.nla_type & NLA_TYPE_MASK,
                     data.subspan(sizeof(nlattr), header.nla_len - sizeof(nlattr))});
    data = data.subspan(std::min(aligned(header.nla_len), data.size()));
  }
  return found;
}

NetlinkSocket::NetlinkSocket()
    : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)),
      buffer_(kReceiveBuffer) {
  if (!socket_) throw system_error("opening a netlink socket", errno);
  const int on = 1;
  // Without it every acknowledgement repeats the whole request.
  ::setsockopt(socket_.get(), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
}

void NetlinkSocket::send(std::span<const std::byte> data) {
  if (::send(socket_.get(), data.data(), data.size(), 0) < 0)
    throw system_error("sending a netlink request", errno);
}

std::span<const std::byte> NetlinkSocket::receive() {
  for (;;) {
    const ssize_t size = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
    if (size >= 0) return {buffer_.data(), static_cast<std::size_t>(size)};
    if (errno != EINTR) throw system_error("reading a netlink answer", errno);
  }
}

void NetlinkSocket::send_batch(std::span<const NetlinkMessage> batch) {
  std::vector<std::byte> out;
  for (const NetlinkMessage& message : batch) {
    std::vector<std::byte> one = message.bytes(++sequence_);
    auto header = at<nlmsghdr>(one, 0);
    header.nlmsg_flags = static_cast<std::uint16_t>(header.nlmsg_flags | NLM_F_ACK);
    std::memcpy(one.data(), &header, sizeof header);
    out.insert(out.end(), one.begin(), one.end());
  }
  send(out);
}

void NetlinkSocket::receive_results(std::uint32_t first, std::span<int> results) {
  std::size_t answered = 0;
  while (answered < results.size()) {
    for_each_message(receive(), [&](const nlmsghdr& header, std::span<const std::byte> payload) {
      const std::uint32_t place = header.nlmsg_seq - first;
      if (header.nlmsg_type != NLMSG_ERROR || place >= results.size()) return;
      results[place] = -at<int>(payload, 0);
      ++answered;
    });
  }
}

std::vector<int> NetlinkSocket::request(std::span<const NetlinkMessage> messages) {
  std::vector<int> results(messages.size());
  for (std::size_t done = 0; done < messages.size();) {
    const std::size_t size = std::min(kBatch, messages.size() - done);
    const std::uint32_t first = sequence_ + 1;
    send_batch(messages.subspan(done, size));
    receive_results(first, std::span(results).subspan(done, size));
    done += size;
  }
  return results;
}

int NetlinkSocket::request(const NetlinkMessage& message) {
  return request(std::span(&message, 1)).front();
}

void NetlinkSocket::dump(const NetlinkMessage& message,
                         const std::function<void(std::span<const std::byte>)>& visit) {
  const std::uint32_t sequence = ++sequence_;
  send(message.bytes(sequence));
  bool done = false;
  while (!done) {
    for_each_message(receive(), [&](const nlmsghdr& header, std::span<const std::byte> payload) {
      if (header.nlmsg_seq != sequence || done) return;
      if (header.nlmsg_type == NLMSG_ERROR)
        throw system_error("reading the network's state", -at<int>(payload, 0));
      done = header.nlmsg_type == NLMSG_DONE;
      if (!done) visit(payload);
    });
  }
}

}  // namespace fastgpu::provision::local
