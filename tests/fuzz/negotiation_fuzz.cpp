// What another rank may say at the end of a step, of its gradients, and of its calls.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "comm/engine/call.hpp"
#include "comm/engine/call_book.hpp"
#include "comm/gradients/agree.hpp"

namespace comm = fastgpu::comm;

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kGradients = 9;

template <class Action>
void tried(Action action) {
  try {
    action();
  } catch (const fastgpu::Error& e) {
    const auto kind = e.kind();
    if (kind != fastgpu::ErrorKind::remote && kind != fastgpu::ErrorKind::usage) __builtin_trap();
  }
}

/// A step of rank 0 of three, in which both others say what they like.
void negotiate(Bytes said) {
  comm::Negotiation negotiation({0}, 3, kGradients,
                                {.mine = {.ready = comm::GradientSet(kGradients)}});
  while (const auto awaited = negotiation.awaited()) {
    if (awaited->bytes > said.size()) return;
    negotiation.received(said.first(awaited->bytes));
    said = said.subspan(awaited->bytes);
    negotiation.take_outgoing();
    for (const comm::RankState& late : negotiation.take_late())
      if (late.rank.value >= 3) __builtin_trap();
  }
  comm::GradientTable table;
  for (std::size_t i = 0; i < kGradients; ++i)
    table.add({.name = std::to_string(i)});
  comm::describe_differences(negotiation.agreement().ranks, table);
  if (const auto& report = negotiation.agreement().details.report)
    comm::describe(*report, 0, table);
}

void listen(Bytes said) {
  comm::CallBook book({0});
  comm::Note note{};
  if (said.size() < note.size() + 2) return;
  std::ranges::copy(said.last(note.size()), note.begin());
  const auto number =
      std::to_integer<std::uint64_t>(said[0]) << 24 | std::to_integer<std::uint64_t>(said[1]);
  book.begin(1, {});
  book.on_note(number & 0xfffffffff, {1}, note);
  book.begin(2, {.sequence = 1});
}

/// Rank 0's order of gradients, every number as likely as any.
void listen_to_rank_0(Bytes said) {
  std::vector<std::uint64_t> numbers(said.size() / sizeof(std::uint64_t));
  std::memcpy(numbers.data(), said.data(), numbers.size() * sizeof(std::uint64_t));
  std::vector<bool> is_there(kGradients);
  for (const comm::GradientId id : comm::decode_order(numbers, kGradients))
    is_there.at(id.value) = true;
  if (std::ranges::count(is_there, true) != std::ssize(is_there)) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto said = std::as_bytes(std::span(data, size));
  tried([&] { comm::decode_summary(said); });
  tried([&] { comm::decode_details(said, kGradients); });
  tried([&] { comm::decode_rank_state(said, kGradients); });
  tried([&] {
    const comm::GradientTable table = comm::decode_table(said);
    if (comm::encode(table).size() > size) __builtin_trap();
    comm::first_difference(table, comm::GradientTable());
  });
  tried([&] { negotiate(said); });
  tried([&] { listen(said); });
  tried([&] { listen_to_rank_0(said); });
  return 0;
}
