#include "comm/transports/abort_reason.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "comm/common/wire.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kBytesBeforeText = 5;
constexpr std::uint32_t kNoCulprit = std::numeric_limits<std::uint32_t>::max();
constexpr auto kPairCulprit = static_cast<std::uint32_t>(kPair.value);

/// Returns the rank that the notice blames; rank `from` if it blames none.
Rank culprit_in(std::span<const std::byte> reason, Rank from) {
  if (reason.size() < kBytesBeforeText) return from;
  const auto number = WireReader(reason.subspan(1)).get<std::uint32_t>();
  if (number == kPairCulprit) return kPair;
  return std::in_range<int>(number) ? Rank{static_cast<int>(number)} : from;
}

}  // namespace

std::vector<std::byte> abort_reason(const Error& error, std::optional<Rank> culprit) {
  const std::string text = error.what();
  std::vector<std::byte> reason(kBytesBeforeText + text.size());
  WireWriter(reason)
      .put(static_cast<std::uint8_t>(error.kind()))
      .put(culprit ? static_cast<std::uint32_t>(culprit->value) : kNoCulprit)
      .put(std::as_bytes(std::span(text)));
  return reason;
}

CausedError error_of_abort(std::span<const std::byte> reason, Rank from) {
  const auto kind = std::to_integer<std::uint8_t>(reason[0]);
  // That a user has stopped another rank is not this one's interruption.
  const bool is_known = kind <= static_cast<std::uint8_t>(ErrorKind::internal) &&
                        static_cast<ErrorKind>(kind) != ErrorKind::interrupted;
  const auto words = reason.subspan(std::min(reason.size(), kBytesBeforeText));
  std::string text(reinterpret_cast<const char*>(words.data()), words.size());
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 127; };
  std::ranges::replace_if(text, is_control, '?');  // Safe on a terminal.
  const Error error(is_known ? static_cast<ErrorKind>(kind) : ErrorKind::remote,
                    said_by(text, from));
  // If ranks differ, the one that has seen it first is no more the cause than any other.
  if (error.kind() == ErrorKind::usage) return error;
  return {error, culprit_in(reason, from)};
}

}  // namespace fastgpu::comm
