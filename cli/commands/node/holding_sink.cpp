#include "cli/commands/node/holding_sink.hpp"

#include <algorithm>
#include <utility>

namespace fastgpu::cli {

HoldingSink::HoldingSink(std::size_t hosts, Repeats repeats, const HoldingLimits& limits)
    : limits_(limits),
      repeats_(repeats),
      share_(limits.all / 2 / std::max<std::size_t>(hosts, 1)),
      common_(limits.all / 2),
      coming_(hosts),
      held_(hosts) {}

void HoldingSink::output(std::size_t host, remote::Channel channel, std::string_view text) {
  Coming& coming = coming_[host];
  std::string& kept = channel == remote::Channel::out ? coming.out : coming.err;
  const std::size_t of_share =
      share_ - (coming.out.size() + coming.err.size() - coming.from_common);
  const std::size_t room = std::min(limits_.stream - kept.size(), of_share + common_);
  const std::string_view taken = text.substr(0, room);
  const std::size_t beyond = taken.size() - std::min(taken.size(), of_share);
  coming.from_common += beyond;
  common_ -= beyond;
  kept += taken;
  held_[host].truncated = held_[host].truncated || taken.size() < text.size();
}

void HoldingSink::ended(std::size_t host) {
  Coming& coming = coming_[host];
  held_[host].out = settle(coming.out, coming);
  held_[host].err = settle(coming.err, coming);
}

std::string_view HoldingSink::settle(std::string& text, Coming& coming) {
  const auto [place, is_new] = texts_.insert(std::exchange(text, {}));
  if (!is_new && repeats_ == Repeats::shared) {
    const std::size_t room = std::min(coming.from_common, place->size());
    coming.from_common -= room;
    common_ += room;
  }
  return *place;
}

}  // namespace fastgpu::cli
