#include "comm/gradients/step_messages.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "base/wait_notice.hpp"
#include "comm/gradients/agree.hpp"

namespace fastgpu::comm {

StepMessages::StepMessages(Parts parts, std::chrono::milliseconds stall,
                           std::function<void(const std::string&)> warn)
    : parts_(parts), stall_(stall), warn_(std::move(warn)) {}

Agreement StepMessages::negotiate(Negotiation::Statement statement) {
  const std::uint32_t step = statement.mine.step;
  Negotiation negotiation(parts_.communicator.rank(), parts_.communicator.size(),
                          parts_.table.size(), std::move(statement));
  send(negotiation.take_outgoing());
  late_.clear();
  std::chrono::milliseconds waited = stall_;
  Reminder reminder{std::chrono::steady_clock::now() + waited, [&] {
                      warn_of_stall(negotiation.awaited()->from, step, waited);
                      reminder.due += 2 * waited;
                      waited *= 3;
                    }};
  std::vector<std::byte> message;
  while (const auto awaited = negotiation.awaited()) {
    message.resize(awaited->bytes);
    receive(message, awaited->from, reminder);
    negotiation.received(message);
    send(negotiation.take_outgoing());
    for (RankState& each : negotiation.take_late())
      late_[each.rank] = std::move(each);
    // A rank that sends more than a notice of late ranks does not wait any more.
    const auto next = negotiation.awaited();
    if (next && next->from != awaited->from) late_.clear();
  }
  under_way_.clear();
  return negotiation.agreement();
}

/// Receives a message. A failure names what the late ranks have not made ready.
void StepMessages::receive(std::span<std::byte> message, Rank from, Reminder& reminder) {
  try {
    parts_.communicator.receive(message, from, reminder);
  } catch (const Error& e) {
    std::string text = e.what();
    for (const auto& [rank, state] : late_)
      text += "; " + describe_late(state, parts_.table);
    throw Error(e.kind(), text);
  }
}

void StepMessages::notify_late(const RankState& mine) {
  try {
    send(late_notices(mine, parts_.communicator.size()));
  } catch (const Error&) {
    return;
  }
}

/// Warns. It is unknown whether a silent rank waits itself.
void StepMessages::warn_of_stall(Rank awaited, std::uint32_t step,
                                 std::chrono::milliseconds waited) {
  const std::string since = std::string(kHasWaitedFor) + to_string(waited);
  for (const auto& [rank, state] : late_)
    warn_(describe_late(state, parts_.table) + since);
  if (late_.empty())
    warn_("rank " + std::to_string(awaited.value) + " has sent nothing in step " +
          std::to_string(step) + since);
  parts_.recorder.ranks_are_late();
}

void StepMessages::send(std::vector<Negotiation::Outgoing> messages) {
  // Up to this length a message leaves without an action of its receiver, which may be sending one
  // itself.
  constexpr std::size_t kShort = 4096;
  GradientCounters& counters = parts_.recorder.counters();
  for (Negotiation::Outgoing& each : messages) {
    ++counters.negotiation_messages;
    counters.negotiation_bytes += each.message.size();
    if (each.message.size() <= kShort) {
      parts_.communicator.send(each.message, each.to, ElementType::uint8, each.if_gone);
      continue;
    }
    Handle handle =
        parts_.communicator.start_send(each.message, each.to, ElementType::uint8, each.if_gone);
    under_way_.push_back({std::move(each.message), std::move(handle)});
  }
}

}  // namespace fastgpu::comm
