#include "comm/schedule/dependencies.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace fastgpu::comm {
namespace {

/// The last writer of each stretch of one buffer, and its readers since.
class Accesses {
 public:
  /// Adds to `earlier` the steps that a read of `part` waits for.
  void read(const Part& part, StepIndex step, std::vector<StepIndex>& earlier) {
    for (auto segment = cut_out(part); segment != segments_.end() && segment->first < end_of(part);
         ++segment) {
      if (segment->second.writer) earlier.push_back(*segment->second.writer);
      segment->second.readers.push_back(step);
    }
  }

  /// Adds to `earlier` the steps that a write of `part` waits for. Readers waited for the writer
  /// before them, so a step that waits for them need not name it.
  void write(const Part& part, StepIndex step, std::vector<StepIndex>& earlier) {
    const auto begin = cut_out(part);
    auto segment = begin;
    for (; segment != segments_.end() && segment->first < end_of(part); ++segment) {
      const Segment& old = segment->second;
      earlier.insert(earlier.end(), old.readers.begin(), old.readers.end());
      if (old.readers.empty() && old.writer) earlier.push_back(*old.writer);
    }
    segments_.erase(begin, segment);
    segments_[part.offset] = {.end = end_of(part), .writer = step, .readers = {}};
  }

 private:
  struct Segment {
    std::uint64_t end = 0;
    std::optional<StepIndex> writer;
    std::vector<StepIndex> readers;
  };
  /// Segments by their begin; they do not overlap.
  using Segments = std::map<std::uint64_t, Segment>;

  static std::uint64_t end_of(const Part& part) { return part.offset + part.count; }

  /// Makes segments begin and end where `part` does, and cover it; returns the first of them.
  Segments::iterator cut_out(const Part& part) {
    split_at(part.offset);
    split_at(end_of(part));
    std::uint64_t at = part.offset;
    for (auto next = segments_.lower_bound(at); at < end_of(part); ++next) {
      const bool covered = next != segments_.end() && next->first == at;
      if (!covered)
        next =
            segments_.insert(next, {at, {.end = gap_end(next, part), .writer = {}, .readers = {}}});
      at = next->second.end;
    }
    return segments_.find(part.offset);
  }

  std::uint64_t gap_end(Segments::iterator next, const Part& part) const {
    return next == segments_.end() ? end_of(part) : std::min(next->first, end_of(part));
  }

  void split_at(std::uint64_t at) {
    auto after = segments_.upper_bound(at);
    if (after == segments_.begin()) return;
    const auto around = std::prev(after);
    if (around->first == at || around->second.end <= at) return;
    segments_.insert(after, {at, around->second});
    around->second.end = at;
  }

  Segments segments_;
};

void end_list(StepLists& lists) {
  lists.begins.push_back(static_cast<std::uint32_t>(lists.steps.size()));
}

StepLists steps_before(const Program& program) {
  std::array<Accesses, 3> buffers;
  StepLists before;
  std::vector<StepIndex> earlier;
  for (StepIndex index = 0; index < program.steps.size(); ++index) {
    earlier.clear();
    const Part read = read_by(program.steps[index]);
    const Part written = written_by(program.steps[index]);
    if (read.count > 0) buffers[std::size_t(read.buffer)].read(read, index, earlier);
    if (written.count > 0) buffers[std::size_t(written.buffer)].write(written, index, earlier);
    std::ranges::sort(earlier);
    earlier.erase(std::unique(earlier.begin(), earlier.end()), earlier.end());
    if (!earlier.empty() && earlier.back() == index) earlier.pop_back();
    before.steps.insert(before.steps.end(), earlier.begin(), earlier.end());
    end_list(before);
  }
  return before;
}

/// Inverts `lists`: list i of the result has the numbers of the lists that have i.
StepLists turned_round(const StepLists& lists) {
  StepLists turned;
  turned.begins.assign(lists.size() + 1, 0);
  for (const StepIndex step : lists.steps)
    ++turned.begins[step + 1];
  for (std::size_t list = 0; list < lists.size(); ++list)
    turned.begins[list + 1] += turned.begins[list];
  turned.steps.resize(lists.steps.size());
  std::vector<std::uint32_t> next(turned.begins.begin(), turned.begins.end() - 1);
  for (StepIndex list = 0; list < lists.size(); ++list)
    for (const StepIndex step : lists[list])
      turned.steps[next[step]++] = list;
  return turned;
}

bool has_channel(const Step& step) {
  return step.kind != StepKind::copy && step.kind != StepKind::reduce;
}

void fill_channels(const Program& program, Dependencies& result) {
  std::vector<std::pair<Channel, StepIndex>> uses;
  for (StepIndex index = 0; index < program.steps.size(); ++index)
    if (has_channel(program.steps[index]))
      uses.emplace_back(channel_of(program.steps[index]), index);
  std::ranges::sort(uses);
  for (const auto& [channel, step] : uses) {
    if (result.channels.empty() || result.channels.back() != channel) {
      if (!result.channels.empty()) end_list(result.on_channel);
      result.channels.push_back(channel);
    }
    result.on_channel.steps.push_back(step);
  }
  if (!result.channels.empty()) end_list(result.on_channel);
}

}  // namespace

Channel channel_of(const Step& step) noexcept {
  return {step.peer, step.lane, step.kind == StepKind::send ? Direction::out : Direction::in};
}

Part read_by(const Step& step) noexcept {
  switch (step.kind) {
    case StepKind::send:
    case StepKind::copy:
    case StepKind::reduce:
      return step.from;
    case StepKind::receive:
    case StepKind::receive_reduce:
      return {};
  }
  return {};
}

Part written_by(const Step& step) noexcept {
  return step.kind == StepKind::send ? Part{} : step.to;
}

Dependencies dependencies_of(const Program& program) {
  Dependencies result{
      .before = steps_before(program), .after = {}, .channels = {}, .on_channel = {}};
  result.after = turned_round(result.before);
  fill_channels(program, result);
  return result;
}

}  // namespace fastgpu::comm
