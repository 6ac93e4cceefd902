#include "comm/engine/wait_graph.hpp"

#include <algorithm>
#include <utility>

#include "comm/common/wire.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kHead = 8 + 8 + 1 + 2;
constexpr std::size_t kMostText = 256;

/// Ranks that a sentence has room for.
constexpr std::size_t kNamed = 4;

std::string rank_name(Rank rank) {
  return "rank " + std::to_string(rank.value);
}

bool is_the_same(const WaitReport& one, const WaitReport& other) {
  return one.moved == other.moved && one.awaited == other.awaited && one.doing == other.doing;
}

}  // namespace

std::vector<std::byte> encode(const WaitReport& report, std::size_t most) {
  const std::string text = report.doing.substr(0, kMostText);
  const bool fits = kHead + 4 * report.awaited.size() + text.size() <= most;
  const auto awaited = std::span(report.awaited).first(fits ? report.awaited.size() : 0);
  std::vector<std::byte> bytes(kHead + 4 * awaited.size() + text.size());
  WireWriter out(bytes);
  out.put(report.round)
      .put(report.moved)
      .put(static_cast<std::uint8_t>(report.is_blocked && fits ? 1 : 0))
      .put(static_cast<std::uint16_t>(awaited.size()));
  for (const Rank rank : awaited)
    out.put(static_cast<std::uint32_t>(rank.value));
  out.put(std::as_bytes(std::span(text)));
  return bytes;
}

WaitReport decode_wait_report(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  WaitReport report;
  report.round = in.get<std::uint64_t>();
  report.moved = in.get<std::uint64_t>();
  report.is_blocked = in.get<std::uint8_t>() != 0;
  const auto count = in.get<std::uint16_t>();
  for (std::uint16_t i = 0; i < count; ++i)
    report.awaited.push_back({static_cast<int>(in.get<std::uint32_t>())});
  for (const std::byte descriptor : bytes.subspan(kHead + 4 * std::size_t{count}))
    report.doing.push_back(std::to_integer<char>(descriptor));
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 127; };
  std::ranges::replace_if(report.doing, is_control, '?');
  return report;
}

void WaitGraph::forget() {
  ++round_;
  asked_.clear();
  reports_.clear();
  before_.clear();
}

std::vector<Rank> WaitGraph::not_yet_asked(const std::vector<Rank>& ranks) {
  std::vector<Rank> fresh;
  for (const Rank rank : ranks)
    if (rank != self_ && asked_.insert(rank).second) fresh.push_back(rank);
  return fresh;
}

std::vector<Rank> WaitGraph::begin_round(WaitReport mine) {
  before_ = is_complete() ? std::move(reports_) : Reports();
  ++round_;
  asked_.clear();
  reports_.clear();
  auto to_ask = not_yet_asked(mine.awaited);
  reports_.emplace(self_, std::move(mine));
  return to_ask;
}

std::vector<Rank> WaitGraph::on_report(Rank from, WaitReport report) {
  if (report.round != round_ || !asked_.contains(from)) return {};
  auto to_ask = report.is_blocked ? not_yet_asked(report.awaited) : std::vector<Rank>();
  reports_.insert_or_assign(from, std::move(report));
  return to_ask;
}

const WaitReport* WaitGraph::answer_of(Rank rank) const {
  const auto found = reports_.find(rank);
  return found == reports_.end() ? nullptr : &found->second;
}

bool WaitGraph::is_complete() const {
  return !asked_.empty() && reports_.size() == asked_.size() + 1 &&
         std::ranges::all_of(reports_, [](const auto& each) { return each.second.is_blocked; });
}

std::optional<std::string> WaitGraph::dead_end() const {
  if (!is_complete() || before_.size() != reports_.size()) return std::nullopt;
  for (const auto& [rank, report] : reports_) {
    const auto before = before_.find(rank);
    if (before == before_.end() || !is_the_same(before->second, report)) return std::nullopt;
  }
  std::string sentence = "the ranks wait for each other, and none can go on: ";
  std::size_t named = 0;
  for (const auto& [rank, report] : reports_) {
    if (named == kNamed) break;
    sentence += (named++ == 0 ? "" : ", ") + rank_name(rank) + " waits in " + report.doing;
    if (!report.awaited.empty()) sentence += " for " + rank_name(report.awaited.front());
    if (report.awaited.size() > 1) sentence += " and others";
  }
  if (reports_.size() > kNamed)
    sentence += " and " + std::to_string(reports_.size() - kNamed) + " more ranks wait too";
  return sentence;
}

}  // namespace fastgpu::comm
