#include "comm/schedule/compose.hpp"

#include <algorithm>
#include <utility>

namespace fastgpu::comm {
namespace {

/// Returns the element at which slice `index` of `slices` begins in `count` elements.
std::uint64_t begin_of(std::uint64_t count, int index, int slices) {
  const auto i = static_cast<std::uint64_t>(index);
  const auto n = static_cast<std::uint64_t>(slices);
  return count / n * i + std::min(i, count % n);
}

}  // namespace

Part whole_of(std::uint64_t count) noexcept {
  return {Buffer::data, 0, count};
}

Part slices_of(const Part& whole, int first, int last, int slices) noexcept {
  const std::uint64_t begin = begin_of(whole.count, first, slices);
  const std::uint64_t end = begin_of(whole.count, last, slices);
  return {whole.buffer, whole.offset + begin, end - begin};
}

Part slice_of(const Part& whole, int index, int slices) noexcept {
  return slices_of(whole, index, index + 1, slices);
}

Piece piece_of(const Part& slice, int index, Cut cut) noexcept {
  return {slice_of(slice, index, cut.pieces), static_cast<std::uint8_t>(index % cut.lanes)};
}

std::vector<Piece> pieces_of(const Part& slice, Cut cut) {
  std::vector<Piece> pieces;
  for (int index = 0; index < cut.pieces; ++index)
    pieces.push_back(piece_of(slice, index, cut));
  return pieces;
}

void Writer::send(int peer, const Piece& piece) {
  steps_.push_back({StepKind::send, Rank{peer}, piece.lane, piece.part, {}});
}

void Writer::receive(int peer, const Piece& piece) {
  steps_.push_back({StepKind::receive, Rank{peer}, piece.lane, {}, piece.part});
}

void Writer::receive_reduce(int peer, const Piece& piece) {
  steps_.push_back({StepKind::receive_reduce, Rank{peer}, piece.lane, {}, piece.part});
}

void Writer::copy(const Part& to, const Part& from) {
  if (to.count > 0) steps_.push_back({StepKind::copy, {}, 0, from, to});
}

void Writer::reduce(const Part& to, const Part& from) {
  if (to.count > 0) steps_.push_back({StepKind::reduce, {}, 0, from, to});
}

void append(Program& first, const Program& second) {
  first.steps.insert(first.steps.end(), second.steps.begin(), second.steps.end());
  first.scratch = std::max(first.scratch, second.scratch);
}

Program then(Program first, const Program& second) {
  append(first, second);
  return first;
}

Program on_group(Program program, std::span<const Rank> ranks) {
  for (Step& step : program.steps)
    step.peer = ranks[static_cast<std::size_t>(step.peer.value)];
  return program;
}

Program at_offset(Program program, std::uint64_t offset) {
  for (Step& step : program.steps)
    for (Part* part : {&step.from, &step.to})
      if (part->buffer != Buffer::scratch) part->offset += offset;
  return program;
}

Program from_lane(Program program, std::uint8_t first) {
  for (Step& step : program.steps)
    step.lane = static_cast<std::uint8_t>(step.lane + first);
  return program;
}

}  // namespace fastgpu::comm
