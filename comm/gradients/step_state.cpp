#include "comm/gradients/step_state.hpp"

#include <iterator>
#include <string>

#include "base/error.hpp"
#include "comm/common/wire.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kReportBytes = 18;
constexpr std::size_t kStateBytes = 21;  ///< The length without the set.
constexpr std::uint8_t kLate = 0x80;

constexpr bool Verdicts::*kVerdicts[] = {&Verdicts::is_incomplete, &Verdicts::has_non_finite,
                                         &Verdicts::is_leaving, &Verdicts::differs};

std::uint8_t bits_of(const Verdicts& verdicts) noexcept {
  unsigned bits = 0;
  for (std::size_t i = 0; i < std::size(kVerdicts); ++i)
    if (verdicts.*kVerdicts[i]) bits |= 1U << i;
  return static_cast<std::uint8_t>(bits);
}

Verdicts verdicts_of(std::uint8_t bits) {
  if (bits >> std::size(kVerdicts) != 0)
    throw Error(ErrorKind::remote, "a step's end with verdicts " + std::to_string(bits));
  Verdicts verdicts;
  for (std::size_t i = 0; i < std::size(kVerdicts); ++i)
    verdicts.*kVerdicts[i] = (bits >> i & 1U) != 0;
  return verdicts;
}

NonFiniteReport read_report(WireReader& reader, std::size_t gradients) {
  NonFiniteReport report;
  const auto value = reader.get<std::uint8_t>();
  report.rank = {static_cast<int>(reader.get<std::uint32_t>() & 0x7fffffffU)};
  report.gradient = {reader.get<std::uint32_t>()};
  report.index = reader.get<std::uint64_t>();
  if (value > 1 || report.gradient.value >= gradients)
    throw Error(ErrorKind::remote, "an invalid report of a number");
  report.value = NonFiniteReport::Value{value};
  return report;
}

void need_size(std::span<const std::byte> message, std::size_t bytes) {
  if (message.size() != bytes)
    throw Error(ErrorKind::remote, "a step's end of " + std::to_string(message.size()) +
                                       " bytes instead of " + std::to_string(bytes));
}

}  // namespace

Verdicts operator|(const Verdicts& a, const Verdicts& b) noexcept {
  Verdicts both;
  for (const auto verdict : kVerdicts)
    both.*verdict = a.*verdict || b.*verdict;
  return both;
}

void Summary::combine(const Summary& other) noexcept {
  verdicts = verdicts | other.verdicts;
  if (step != other.step || plan != other.plan) verdicts.differs = true;
}

std::size_t Details::bytes(std::size_t gradients) noexcept {
  return kReportBytes + 2 * GradientSet(gradients).bytes();
}

void Details::combine(const Details& other) {
  ready_on_all &= other.ready_on_all;
  ready_on_any |= other.ready_on_any;
  if (other.report && (!report || other.report->rank < report->rank)) report = other.report;
}

std::size_t RankState::bytes(std::size_t gradients) noexcept {
  return kStateBytes + GradientSet(gradients).bytes();
}

std::vector<std::byte> encode(const Summary& summary) {
  std::vector<std::byte> message(Summary::kBytes);
  const unsigned bits = bits_of(summary.verdicts) | (summary.is_late ? kLate : 0U);
  WireWriter(message).put(summary.step).put(summary.plan).put(static_cast<std::uint8_t>(bits));
  return message;
}

std::vector<std::byte> encode(const Details& details) {
  std::vector<std::byte> message(kReportBytes + 2 * details.ready_on_all.bytes());
  WireWriter writer(message);
  const NonFiniteReport report = details.report.value_or(NonFiniteReport{});
  writer.put(static_cast<std::uint8_t>(details.report.has_value()))
      .put(static_cast<std::uint8_t>(report.value))
      .put(static_cast<std::uint32_t>(report.rank.value))
      .put(static_cast<std::uint32_t>(report.gradient.value))
      .put(report.index);
  writer.put(details.ready_on_all.as_bytes()).put(details.ready_on_any.as_bytes());
  return message;
}

std::vector<std::byte> encode(const RankState& state) {
  std::vector<std::byte> message(kStateBytes + state.ready.bytes());
  WireWriter(message)
      .put(static_cast<std::uint32_t>(state.rank.value))
      .put(state.step)
      .put(state.plan)
      .put(bits_of(state.verdicts))
      .put(state.late_ms)
      .put(state.ready.as_bytes());
  return message;
}

Summary decode_summary(std::span<const std::byte> message) {
  need_size(message, Summary::kBytes);
  WireReader reader(message);
  Summary summary;
  summary.step = reader.get<std::uint32_t>();
  summary.plan = reader.get<std::uint32_t>();
  const auto bits = reader.get<std::uint8_t>();
  summary.is_late = (bits & kLate) != 0;
  summary.verdicts = verdicts_of(static_cast<std::uint8_t>(bits & ~unsigned{kLate}));
  return summary;
}

Details decode_details(std::span<const std::byte> message, std::size_t gradients) {
  need_size(message, Details::bytes(gradients));
  WireReader reader(message);
  const bool has_report = reader.get<std::uint8_t>() != 0;
  Details details{GradientSet(gradients), GradientSet(gradients)};
  if (has_report)
    details.report = read_report(reader, gradients);
  else
    reader.get_bytes(kReportBytes - 1);
  details.ready_on_all.assign(reader.get_bytes(details.ready_on_all.bytes()));
  details.ready_on_any.assign(reader.get_bytes(details.ready_on_any.bytes()));
  return details;
}

RankState decode_rank_state(std::span<const std::byte> message, std::size_t gradients) {
  need_size(message, RankState::bytes(gradients));
  WireReader reader(message);
  RankState state{.ready = GradientSet(gradients)};
  state.rank = {static_cast<int>(reader.get<std::uint32_t>() & 0x7fffffffU)};
  state.step = reader.get<std::uint32_t>();
  state.plan = reader.get<std::uint64_t>();
  state.verdicts = verdicts_of(reader.get<std::uint8_t>());
  state.late_ms = reader.get<std::uint32_t>();
  state.ready.assign(reader.get_bytes(state.ready.bytes()));
  return state;
}

}  // namespace fastgpu::comm
