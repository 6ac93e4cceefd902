#include "comm/transports/staged_messages.hpp"

#include <algorithm>
#include <utility>

namespace fastgpu::comm {

std::optional<StagedMessages::Copy> StagedMessages::find_same(
    std::span<const std::byte> bytes) const noexcept {
  const auto found = std::ranges::find_if(open_, [&](Copy copy) {
    const auto& source = copies_[copy].source;
    return source.data() == bytes.data() && source.size() == bytes.size();
  });
  if (found == open_.end()) return std::nullopt;
  return *found;
}

/// Returns the first place with so many free units: the one that was used last, if it has room, and
/// is still in the caches.
std::optional<StagedMessages::Copy> StagedMessages::find_room(std::size_t units) const noexcept {
  std::size_t free = 0;
  for (std::size_t unit = 0; unit < is_used_.size(); ++unit) {
    free = is_used_[unit] ? 0 : free + 1;
    if (free == units) return static_cast<Copy>(unit + 1 - units);
  }
  return std::nullopt;
}

std::optional<StagedMessages::Copy> StagedMessages::add(Outgoing& message) {
  std::optional<Copy> copy = find_same(message.bytes);
  if (!copy) {
    const std::size_t units = (message.bytes.size() + kUnit - 1) / kUnit;
    copy = find_room(units);
    if (!copy) return std::nullopt;
    std::fill_n(is_used_.begin() + *copy, units, true);
    State& state = copies_[*copy];
    state.source = message.bytes;
    state.units = units;
    stores_.store(memory_.subspan(offset_of(*copy), message.bytes.size()), message.bytes);
    open_.push_back(*copy);
  }
  State& state = copies_[*copy];
  ++state.messages;
  ++state.unread;
  state.waiting.push_back(&message);
  return copy;
}

void StagedMessages::announced(Copy copy) {
  State& state = copies_[copy];
  if (state.messages < state.waiting.back()->same_messages) return;
  for (Outgoing* const message : state.waiting) {
    message->moved = message->bytes.size();
    events_.sent(*message);
  }
  state.waiting.clear();
  std::erase(open_, copy);
}

void StagedMessages::taken(Copy copy, Rank by) {
  State& state = copies_[copy];
  const auto message = std::ranges::find(state.waiting, by, &Outgoing::peer);
  if (message != state.waiting.end()) {
    (*message)->moved = (*message)->bytes.size();
    events_.sent(**message);
    state.waiting.erase(message);
    if (state.waiting.empty()) std::erase(open_, copy);
  }
  if (--state.unread > 0) return;
  std::fill_n(is_used_.begin() + copy, state.units, false);
  state.messages = 0;
}

bool StagedMessages::waits_for(Rank peer) const noexcept {
  return std::ranges::any_of(open_, [&](Copy copy) {
    return std::ranges::find(copies_[copy].waiting, peer, &Outgoing::peer) !=
           copies_[copy].waiting.end();
  });
}

void StagedMessages::forget(Rank peer) noexcept {
  std::erase_if(open_, [&](Copy copy) {
    auto& waiting = copies_[copy].waiting;
    std::erase_if(waiting, [&](const Outgoing* message) { return message->peer == peer; });
    return waiting.empty();
  });
}

}  // namespace fastgpu::comm
