#include "comm/transports/tcp_notices.hpp"

#include <algorithm>
#include <utility>

#include "comm/transports/control_channel.hpp"

namespace fastgpu::comm {
namespace {

SentFrame frame_of(const Frame& frame, std::span<const std::byte> bytes = {}) {
  SentFrame notice{.frame = frame, .copied = {bytes.begin(), bytes.end()}};
  notice.frame.length = static_cast<std::uint32_t>(bytes.size());
  return notice;
}

}  // namespace

bool TcpNotices::is_quiet() const noexcept {
  return std::ranges::all_of(
      frames_, [](const SentFrame& waiting) { return is_about_waits(waiting.frame.kind); });
}

SentFrame TcpNotices::take() {
  SentFrame next = std::move(frames_.front());
  frames_.pop_front();
  return next;
}

void TcpNotices::add_latest(TcpFrameKind kind, std::span<const std::byte> bytes) {
  const auto older =
      std::ranges::find(frames_, kind, [](const SentFrame& waiting) { return waiting.frame.kind; });
  if (older == frames_.end())
    frames_.push_back(frame_of({.kind = kind}, bytes));
  else
    *older = frame_of({.kind = kind}, bytes);
}

void TcpNotices::add_taken(std::uint64_t connection, std::uint64_t frames) {
  const Frame taken{.kind = TcpFrameKind::taken, .offset = connection, .total = frames};
  const auto older = std::ranges::find_if(frames_, [&](const SentFrame& waiting) {
    return waiting.frame.kind == TcpFrameKind::taken && waiting.frame.offset == connection;
  });
  if (older == frames_.end())
    frames_.push_back({.frame = taken});
  else
    older->frame = taken;
}

void TcpNotices::add_note(MessageTag tag, const Note& note) {
  frames_.push_back(frame_of({.kind = TcpFrameKind::note, .tag = tag}, note));
}

void TcpNotices::add_wanted(MessageTag tag) {
  frames_.push_back({.frame = {.kind = TcpFrameKind::wanted, .tag = tag}});
}

void TcpNotices::add_abort(std::span<const std::byte> reason) {
  const auto sent = reason.first(std::min(reason.size(), kMaxAbortBytes));
  frames_.push_back(frame_of({.kind = TcpFrameKind::abort}, sent));
}

void TcpNotices::add_card(const CarrierCard& card) {
  frames_.push_back(frame_of({.kind = TcpFrameKind::card,
                              .tag = {card.network},
                              .offset = card.attempt,
                              .total = static_cast<std::uint64_t>(card.kind)},
                             card.bytes));
}

}  // namespace fastgpu::comm
