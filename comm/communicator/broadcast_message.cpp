#include "comm/communicator/broadcast_message.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace fastgpu::comm {
namespace {

using Text = std::array<char, 256>;  ///< Ends with at least one 0.

Text fixed(std::string_view text) {
  Text bytes{};
  std::ranges::copy(text.substr(0, bytes.size() - 1), bytes.begin());
  return bytes;
}

}  // namespace

std::string broadcast_message(Communicator& communicator, Rank sender, const std::string& own) {
  Text bytes{};
  if (communicator.rank() == sender) bytes = fixed(own);
  communicator.broadcast(std::as_writable_bytes(std::span(bytes)), sender);
  bytes.back() = 0;
  std::string text = bytes.data();
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 127; };
  std::ranges::replace_if(text, is_control, '?');  // Safe on a terminal.
  return text;
}

}  // namespace fastgpu::comm
