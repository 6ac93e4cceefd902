#include "comm/gradients/agree.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "comm/communicator/broadcast_message.hpp"
#include "comm/fusion/fingerprint.hpp"
#include "comm/fusion/fusion.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::string_view kWire = "FASTGPU_COMM_WIRE";

/// The wire is compared before the size of buckets, which depends on it.
constexpr std::string_view kShared[] = {kWire,
                                        "FASTGPU_COMM_FUSION",
                                        "FASTGPU_COMM_MIXED_SMALL",
                                        "FASTGPU_COMM_MIXED_KEEP",
                                        "FASTGPU_COMM_LANES",
                                        "FASTGPU_COMM_NANCHECK",
                                        "FASTGPU_COMM_TUNE",
                                        "FASTGPU_COMM_TIMELINE",
                                        "FASTGPU_COMM_DEVICE"};
/// One number for each setting.
using SharedSettings = std::array<std::uint64_t, std::size(kShared)>;

/// The first data to compare.
struct GroupIdentity {
  std::uint64_t library = 0;
  std::uint64_t table = 0;
  std::uint64_t encoded_bytes = 0;
  SharedSettings settings{};
  std::uint64_t op = 0;
  std::uint64_t steps = 0;
  std::uint64_t order = 0;
};

/// The largest possible table: more than any model's has. Larger numbers from a rank are a mistake,
/// or worse.
constexpr std::uint64_t kLargestTable = std::uint64_t{1} << 30;

/// Returns the numbers to compare. Settings that only mixed and codecs use are 0 for other wires.
SharedSettings shared(const GradientSettings& settings) {
  const bool keeps = settings.wire == WireType::mixed || settings.wire == WireType::encoded;
  Fingerprint kept;
  for (const std::string& pattern : settings.keep_float32)
    kept.add(pattern);
  return {number_of_wire(settings),
          settings.bucket.count,
          keeps ? settings.small.count : 0,
          keeps ? kept.value() : 0,
          static_cast<std::uint64_t>(settings.streams),
          static_cast<std::uint64_t>(settings.non_finite),
          static_cast<std::uint64_t>(settings.is_tuned),
          static_cast<std::uint64_t>(!settings.timeline.empty()),
          static_cast<std::uint64_t>(settings.device.path)};
}

GroupIdentity identity_of(const GradientRegistration& registration) {
  return {Fingerprint().add(registration.library).value(),
          registration.table.hash(),
          encode(registration.table).size(),
          shared(registration.settings),
          static_cast<std::uint64_t>(registration.op),
          registration.steps,
          registration.order};
}

std::string name_of_op(std::uint64_t op) {
  return std::string(name_of(static_cast<ReduceOp>(op)));
}

/// Throws on every rank, by a collective call, with the wires of rank `odd` and of rank 0.
[[noreturn]] void refuse_wires(Communicator& communicator, const GradientSettings& settings,
                               Rank odd) {
  const std::string own = text_of_wire(settings);
  const std::string theirs = broadcast_message(communicator, odd, own);
  const std::string reference = broadcast_message(communicator, {0}, own);
  throw communicator.caused_by(
      odd, Error(ErrorKind::usage, "rank " + std::to_string(odd.value) + " has " +
                                       std::string(kWire) + " '" + theirs + "', and rank 0 '" +
                                       reference + "': all ranks need the same"));
}

std::string other_table(Communicator& communicator, const GradientTable& table, Rank odd,
                        std::uint64_t bytes) {
  if (bytes > kLargestTable)
    throw communicator.caused_by(
        {0}, Error(ErrorKind::remote,
                   "rank 0: a table of gradients of " + std::to_string(bytes) + " bytes"));
  std::vector<std::byte> reference(bytes);
  if (communicator.rank() == Rank{0}) reference = encode(table);
  communicator.broadcast(reference, {0});
  std::string own;
  if (communicator.rank() == odd)
    own = first_difference(decode_table(reference), table).value_or("another table");
  return broadcast_message(communicator, odd, own);
}

std::string list_of(const std::vector<GradientId>& ids, const GradientTable& table) {
  constexpr std::size_t kMostNamed = 3;
  std::string list;
  for (std::size_t i = 0; i < std::min(ids.size(), kMostNamed); ++i)
    list += (i == 0 ? "'" : ", '") + printable(table[ids[i]].name) + "'";
  if (ids.size() > kMostNamed) list += " and " + std::to_string(ids.size() - kMostNamed) + " more";
  return list;
}

/// Returns how a rank has diverged from rank 0, whose state is `first`, or what it lacks; empty if
/// it has not.
std::string difference_of(const RankState& rank, const RankState& first,
                          const GradientTable& table) {
  const std::string name = "rank " + std::to_string(rank.rank.value);
  if (rank.step != first.step)
    return name + " is in step " + std::to_string(rank.step) + ", rank 0 in step " +
           std::to_string(first.step);
  if (rank.plan != first.plan) return name + " has planned other buckets than rank 0";
  if (rank.verdicts.is_leaving) return name + " has left";
  return rank.ready.is_full() ? "" : describe_late(rank, table);
}

}  // namespace

bool check_same_registration(Communicator& communicator, const GradientRegistration& mine) {
  const GroupIdentity own = identity_of(mine);
  std::vector<GroupIdentity> all(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(&own, 1)),
                          std::as_writable_bytes(std::span(all)));
  const GroupIdentity& first = all[0];
  const auto odd = std::ranges::find_if(all, [&](const GroupIdentity& each) {
    return each.library != first.library || each.settings != first.settings ||
           each.op != first.op || each.table != first.table || each.steps != first.steps;
  });
  if (odd == all.end())
    return std::ranges::all_of(
        all, [&](const GroupIdentity& each) { return each.order == first.order; });
  const Rank rank{static_cast<int>(odd - all.begin())};
  const std::string name = "rank " + std::to_string(rank.value);
  const auto differs = [&](const std::string& what) {
    return communicator.caused_by(rank, Error(ErrorKind::usage, name + what));
  };
  if (odd->library != first.library)
    throw differs(" runs another libfastgpu_comm than rank 0: " +
                  broadcast_message(communicator, rank, std::string(mine.library)));
  const auto setting = std::ranges::mismatch(odd->settings, first.settings).in1;
  if (setting != odd->settings.end()) {
    const std::string_view variable = kShared[setting - odd->settings.begin()];
    if (variable == kWire) refuse_wires(communicator, mine.settings, rank);
    throw differs(" has another " + std::string(variable) +
                  " than rank 0: all ranks need the same");
  }
  if (odd->op != first.op)
    throw differs(" has the operation " + name_of_op(odd->op) + ", and rank 0 " +
                  name_of_op(first.op) + ": all ranks need the same");
  if (odd->table == first.table)
    throw differs(" continues after " + std::to_string(odd->steps) +
                  " steps of its codec, and rank 0 after " + std::to_string(first.steps) +
                  ": load the states of one checkpoint on all ranks");
  throw differs(" has registered other gradients than rank 0: " +
                other_table(communicator, mine.table, rank, first.encoded_bytes));
}

std::uint64_t fingerprint_of(const std::optional<std::vector<GradientId>>& order) {
  Fingerprint sum;
  sum.add(static_cast<std::uint8_t>(order.has_value()));
  for (const GradientId id : order.value_or(std::vector<GradientId>{}))
    sum.add(std::uint64_t{id.value});
  return sum.value();
}

std::optional<std::vector<GradientId>> saved_order_of_rank_0(
    Communicator& communicator, const GradientTable& table,
    const std::optional<std::vector<GradientId>>& mine) {
  std::uint8_t has_order = mine ? 1 : 0;
  communicator.broadcast(std::as_writable_bytes(std::span(&has_order, 1)), {0});
  if (has_order == 0) return std::nullopt;
  return order_of_rank_0(communicator, table, mine.value_or(std::vector<GradientId>{}));
}

std::vector<GradientId> order_of_rank_0(Communicator& communicator, const GradientTable& table,
                                        const std::vector<GradientId>& mine) {
  std::vector<std::uint64_t> numbers;
  GradientSet seen(table.size());
  for (const GradientId id : mine) {
    numbers.push_back(id.value);
    seen.add(id);
  }
  for (const GradientId id : initial_order(table))
    if (!seen.contains(id)) numbers.push_back(id.value);
  communicator.broadcast(std::as_writable_bytes(std::span(numbers)), {0});
  return decode_order(numbers, table.size());
}

std::vector<GradientId> decode_order(std::span<const std::uint64_t> numbers,
                                     std::size_t gradients) {
  std::vector<GradientId> order;
  GradientSet seen(gradients);
  for (const std::uint64_t number : numbers) {
    order.push_back({number});
    if (number < gradients) seen.add({number});
  }
  if (numbers.size() != gradients || !seen.is_full())
    throw Error(ErrorKind::remote, "rank 0: its order of gradients is invalid");
  return order;
}

std::string describe_differences(const std::vector<RankState>& ranks, const GradientTable& table) {
  std::string text;
  for (const RankState& rank : ranks)
    if (const auto what = difference_of(rank, ranks[0], table); !what.empty())
      append_item(text, what, "; ");
  return text;
}

Rank odd_rank_in(const std::vector<RankState>& ranks, const GradientTable& table) {
  for (const RankState& rank : ranks)
    if (!difference_of(rank, ranks[0], table).empty()) return rank.rank;
  return ranks[0].rank;
}

std::string describe_late(const RankState& rank, const GradientTable& table) {
  return "rank " + std::to_string(rank.rank.value) + " has not made ready in step " +
         std::to_string(rank.step) + ": " + list_of(rank.ready.missing(), table) + " of " +
         std::to_string(table.size()) + " gradients";
}

}  // namespace fastgpu::comm
