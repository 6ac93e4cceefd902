#include "comm/transports/long_messages.hpp"

#include "base/error.hpp"
#include "comm/transports/tcp_arrivals.hpp"

namespace fastgpu::comm {

bool LongMessages::may_go(Outgoing& message) {
  const std::size_t size = message.bytes.size();
  if (wanted_early_.find(message.tag) != nullptr) {
    wanted_early_.take(message.tag);
    return true;
  }
  if (ahead_bytes_ + size <= kMostAhead) {
    ahead_.add(message.tag, size);
    ahead_bytes_ += size;
    return true;
  }
  waiting_.add(message.tag, &message);
  return false;
}

Outgoing* LongMessages::asked_for(MessageTag tag) {
  if (waiting_.find(tag) != nullptr) return waiting_.take(tag);
  if (ahead_.find(tag) != nullptr) {
    ahead_bytes_ -= ahead_.take(tag);
    return nullptr;
  }
  const bool is_asked_twice = wanted_early_.find(tag) != nullptr;
  if (is_asked_twice || wanted_early_.size() >= kMostUnasked / kArrivalCost)
    throw Error(ErrorKind::remote, "it asked for a message twice");
  wanted_early_.add(tag, 0);
  return nullptr;
}

void LongMessages::clear() noexcept {
  waiting_.clear();
  ahead_.clear();
  ahead_bytes_ = 0;
}

}  // namespace fastgpu::comm
