#include "comm/transports/abort_reason.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace fastgpu::comm {

std::vector<std::byte> abort_reason(const Error& error) {
  const std::string text = error.what();
  std::vector<std::byte> reason(1 + text.size());
  reason[0] = static_cast<std::byte>(error.kind());
  std::ranges::copy(std::as_bytes(std::span(text)), reason.begin() + 1);
  return reason;
}

Error error_of_abort(std::span<const std::byte> reason, Rank from) {
  const auto kind = std::to_integer<std::uint8_t>(reason[0]);
  // That a user has stopped another rank is not this one's interruption.
  const bool is_known = kind <= static_cast<std::uint8_t>(ErrorKind::internal) &&
                        static_cast<ErrorKind>(kind) != ErrorKind::interrupted;
  std::string text(reinterpret_cast<const char*>(reason.data() + 1), reason.size() - 1);
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 127; };
  std::ranges::replace_if(text, is_control, '?');  // Safe on a terminal.
  return {is_known ? static_cast<ErrorKind>(kind) : ErrorKind::remote, said_by(text, from)};
}

}  // namespace fastgpu::comm
