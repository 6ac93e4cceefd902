#include "cli/commands/node/holding_sink.hpp"

#include <algorithm>
#include <utility>

namespace fastgpu::cli {

HoldingSink::HoldingSink(std::size_t hosts, Repeats repeats, const HoldingLimits& limits)
    : limits_(limits),
      repeats_(repeats),
      share_(limits.all / 2 / std::max<std::size_t>(hosts, 1)),
      common_(limits.all / 2),
      pending_(hosts),
      held_(hosts) {}

void HoldingSink::output(std::size_t host, remote::OutputChannel channel, std::string_view text) {
  Pending& pending = pending_[host];
  std::string& kept = channel == remote::OutputChannel::out ? pending.out : pending.err;
  const std::size_t of_share =
      share_ - (pending.out.size() + pending.err.size() - pending.from_common);
  const std::size_t room = std::min(limits_.stream - kept.size(), of_share + common_);
  const std::string_view taken = text.substr(0, room);
  const std::size_t beyond = taken.size() - std::min(taken.size(), of_share);
  pending.from_common += beyond;
  common_ -= beyond;
  kept += taken;
  held_[host].truncated = held_[host].truncated || taken.size() < text.size();
}

void HoldingSink::ended(std::size_t host) {
  Pending& pending = pending_[host];
  held_[host].out = settle(pending.out, pending);
  held_[host].err = settle(pending.err, pending);
}

std::string_view HoldingSink::settle(std::string& text, Pending& pending) {
  const auto [place, is_new] = texts_.insert(std::exchange(text, {}));
  if (!is_new && repeats_ == Repeats::shared) {
    const std::size_t room = std::min(pending.from_common, place->size());
    pending.from_common -= room;
    common_ += room;
  }
  return *place;
}

}  // namespace fastgpu::cli
