#include "cli/commands/job/merged_output.hpp"

#include <algorithm>
#include <optional>

namespace fastgpu::cli {

void MergedOutput::output(int rank, agent::OutputStream stream, std::string_view bytes) {
  if (!holds_) return to_.output(rank, stream, bytes);
  const Source source{rank, stream};
  pieces_.push_back({times_[source], source, std::string(bytes)});
  held_ += bytes.size();
  if (held_ > most_) pass_output();
}

void MergedOutput::written_at(int rank, agent::OutputStream stream, std::int64_t time) {
  if (!holds_) return to_.written_at(rank, stream, time);
  auto& known = times_[{rank, stream}];
  known = std::max(known, time);  // A clock that was set back does not change the order of bytes.
}

void MergedOutput::rank_ended(const agent::RankEnd& end, const NodeName& node) {
  if (holds_)
    ends_.emplace_back(end, node);
  else
    to_.rank_ended(end, node);
}

void MergedOutput::backlog_ended() {
  if (merging_ == Merging::all) return;
  finish();
  holds_ = false;
}

void MergedOutput::finish() {
  pass_output();
  for (const auto& [end, node] : ends_)
    to_.rank_ended(end, node);
  ends_.clear();
}

void MergedOutput::pass_output() {
  std::ranges::stable_sort(pieces_, {}, &Piece::time);
  std::map<Source, std::int64_t> passed_on;
  for (const Piece& piece : pieces_) {
    const auto [rank, stream] = piece.source;
    auto& last = passed_on[piece.source];
    if (piece.time != 0 && piece.time != last) to_.written_at(rank, stream, piece.time);
    last = piece.time;
    to_.output(rank, stream, piece.bytes);
  }
  pieces_.clear();
  held_ = 0;
}

}  // namespace fastgpu::cli
