#include "launcher/frames.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::launcher {

void FrameDecoder::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (pending_.empty()) {
      const std::size_t used = take(bytes);
      bytes.remove_prefix(used);
      if (used != 0) continue;
    }
    // A frame is incomplete: only its missing part is copied.
    const auto header = agent::decode_header(pending_);
    const std::size_t whole = agent::kFrameHeader + (header ? header->length : 0);
    const std::size_t wanted = std::min(bytes.size(), whole - pending_.size());
    pending_.append(bytes.substr(0, wanted));
    bytes.remove_prefix(wanted);
    if (take(pending_) != 0) pending_.clear();
  }
}

/// Returns the length of the frame that `bytes` begins with, once it has been handed on; 0 if it is
/// incomplete.
std::size_t FrameDecoder::take(std::string_view bytes) {
  if (ended_)
    throw Error(ErrorKind::remote, "unexpected output after the end: '" + printable(bytes) + "'");
  const std::string_view start = bytes.substr(0, agent::kFrameHeader);
  if (start.size() < agent::kFrameHeader) return 0;
  const auto header = agent::decode_header(start);
  if (!header)
    throw Error(ErrorKind::remote,
                "unexpected output, perhaps from a login script: '" + printable(start) + "'");
  const std::size_t whole = agent::kFrameHeader + header->length;
  if (bytes.size() < whole) return 0;
  ended_ = header->kind == agent::FrameKind::end;
  sink_(*header, bytes.substr(agent::kFrameHeader, header->length));
  return whole;
}

}  // namespace fastgpu::launcher
