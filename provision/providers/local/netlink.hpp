// The kernel's rtnetlink protocol: builds messages, sends them in batches, and reads the answers.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"

namespace fastgpu::provision::local {

/// One request: a header of type T, then attributes, some of them nested.
class NetlinkMessage {
 public:
  template <class T>
  NetlinkMessage(int type, int flags, const T& family_header) {
    nlmsghdr header{};
    header.nlmsg_type = static_cast<std::uint16_t>(type);
    header.nlmsg_flags = static_cast<std::uint16_t>(flags | NLM_F_REQUEST);
    append(&header, sizeof header);
    append(&family_header, sizeof family_header);
  }

  template <class T>
  NetlinkMessage& put(int type, const T& value) {
    return put_bytes(type, &value, sizeof value);
  }
  NetlinkMessage& put_text(int type, std::string_view text);  ///< Adds the closing NUL.
  NetlinkMessage& put_bytes(int type, const void* data, std::size_t size);

  /// Puts everything from `fill` into an attribute `type`, behind `header` if there is one.
  NetlinkMessage& nest(int type, const std::function<void(NetlinkMessage&)>& fill);
  template <class T>
  void append_header(const T& header) {
    append(&header, sizeof header);
  }

  /// Returns the message with `sequence` in it, ready to be sent.
  std::vector<std::byte> bytes(std::uint32_t sequence) const;

 private:
  void append(const void* data, std::size_t size);

  std::vector<std::byte> bytes_;
};

struct NetlinkAttribute {
  int type = 0;
  std::span<const std::byte> data;

  /// Returns the first up to four bytes, in this machine's order.
  std::uint32_t number() const noexcept;
  std::string_view text() const noexcept;
};

/// Returns the attributes in `data`, which begins with the first one.
std::vector<NetlinkAttribute> netlink_attributes(std::span<const std::byte> data);

/// A socket of the process's network namespace at the time of its creation. Not thread-safe.
class NetlinkSocket {
 public:
  NetlinkSocket();  ///< Throws ErrorKind::local.

  /// Sends all in one system call, so that no signal falls in between. Returns one errno per
  /// message, 0 for success. Each is tried, even after failures.
  std::vector<int> request(std::span<const NetlinkMessage> messages);
  int request(const NetlinkMessage& message);

  /// Calls `visit` with the payload (family header and attributes) of each part of the answer.
  void dump(const NetlinkMessage& message,
            const std::function<void(std::span<const std::byte>)>& visit);

 private:
  void send(std::span<const std::byte> data);
  void send_batch(std::span<const NetlinkMessage> batch);
  void receive_results(std::uint32_t first, std::span<int> results);
  std::span<const std::byte> receive();

  UniqueFd socket_;
  std::uint32_t sequence_ = 0;
  std::vector<std::byte> buffer_;
};

/// Returns `T` out of the beginning of a payload; the rest begins at NLMSG_ALIGN(sizeof(T)).
template <class T>
T netlink_header(std::span<const std::byte> payload) {
  T header{};
  if (payload.size() >= sizeof header) std::memcpy(&header, payload.data(), sizeof header);
  return header;
}

}  // namespace fastgpu::provision::local
