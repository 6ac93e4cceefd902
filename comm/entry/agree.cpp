#include "comm/entry/agree.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/entry/fingerprint.hpp"
#include "comm/entry/fusion.hpp"

namespace fastgpu::comm {
namespace {

/// What is compared first.
struct Identity {
  std::uint64_t library = 0;
  std::uint64_t table = 0;
  std::uint64_t encoded_bytes = 0;
};

constexpr std::string_view kLibrary = FASTGPU_VERSION;
using Words = std::array<char, 256>;  ///< Ends with at least one 0.

Words words_of(std::string_view text) {
  Words words{};
  std::ranges::copy(text.substr(0, words.size() - 1), words.begin());
  return words;
}

/// Of the rank that differs, for all others to repeat.
std::string difference(Communicator& communicator, const GradientTable& table, Rank odd,
                       const std::vector<Identity>& all) {
  const bool same_library = all[static_cast<std::size_t>(odd.value)].library == all[0].library;
  std::vector<std::byte> reference(all[0].encoded_bytes);
  if (communicator.rank() == Rank{0}) reference = encode(table);
  communicator.broadcast(reference, {0});
  Words words{};
  if (communicator.rank() == odd && same_library)
    words = words_of(first_difference(decode_table(reference), table).value_or("another table"));
  else if (communicator.rank() == odd)
    words = words_of("libfastgpu_comm " + std::string(kLibrary));
  communicator.broadcast(std::as_writable_bytes(std::span(words)), odd);
  words.back() = 0;
  return words.data();
}

std::string list_of(const std::vector<GradientId>& ids, const GradientTable& table) {
  constexpr std::size_t kMostNamed = 3;
  std::string list;
  for (std::size_t i = 0; i < std::min(ids.size(), kMostNamed); ++i)
    list += (i == 0 ? "'" : ", '") + printable(table[ids[i]].name) + "'";
  if (ids.size() > kMostNamed) list += " and " + std::to_string(ids.size() - kMostNamed) + " more";
  return list;
}

bool is_order(const std::vector<GradientId>& order, std::size_t gradients) {
  GradientSet seen(gradients);
  for (const GradientId id : order)
    if (id.value < gradients) seen.add(id);
  return order.size() == gradients && seen.is_full();
}

}  // namespace

void check_same_table(Communicator& communicator, const GradientTable& table) {
  const Identity mine{Fingerprint().add(kLibrary).value(), table.hash(), encode(table).size()};
  std::vector<Identity> all(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(&mine, 1)),
                          std::as_writable_bytes(std::span(all)));
  const auto odd = std::ranges::find_if(all, [&](const Identity& each) {
    return each.library != all[0].library || each.table != all[0].table;
  });
  if (odd == all.end()) return;
  const Rank rank{static_cast<int>(odd - all.begin())};
  throw Error(ErrorKind::usage,
              "rank " + std::to_string(rank.value) + " has registered other gradients than rank 0" +
                  " or is another version: " + difference(communicator, table, rank, all));
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
  std::vector<GradientId> order;
  for (const std::uint64_t number : numbers)
    order.push_back({number});
  if (!is_order(order, table.size()))
    throw Error(ErrorKind::remote, "rank 0: its order of gradients is none");
  return order;
}

std::string describe_differences(const std::vector<RankState>& ranks, const GradientTable& table) {
  std::string text;
  for (const RankState& rank : ranks) {
    const std::string name = "rank " + std::to_string(rank.rank.value);
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
    if (rank.step != ranks[0].step)
      add(name + " is in step " + std::to_string(rank.step) + ", rank 0 in step " +
          std::to_string(ranks[0].step));
    else if (rank.plan != ranks[0].plan)
      add(name + " has planned other buckets than rank 0");
    else if (rank.verdicts.is_leaving)
      add(name + " has left");
    else if (!rank.ready.is_full())
      add(describe_late(rank, table));
  }
  return text;
}

std::string describe_late(const RankState& rank, const GradientTable& table) {
  return "rank " + std::to_string(rank.rank.value) + " has not made ready in step " +
         std::to_string(rank.step) + ": " + list_of(rank.ready.missing(), table) + " of " +
         std::to_string(table.size()) + " gradients";
}

std::string describe(const NonFiniteReport& report, std::uint32_t step,
                     const GradientTable& table) {
  const bool is_nan = report.value == NonFiniteReport::Value::nan;
  return "step " + std::to_string(step) + ": gradient '" + printable(table[report.gradient].name) +
         "' of rank " + std::to_string(report.rank.value) + " has " +
         (is_nan ? "NaN" : "infinity") + " at index " + std::to_string(report.index);
}

}  // namespace fastgpu::comm
