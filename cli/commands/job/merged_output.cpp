#include "cli/commands/job/merged_output.hpp"

#include <algorithm>
#include <optional>

namespace fastgpu::cli {

void MergedOutput::output(int rank, agent::OutputStream stream, std::string_view bytes) {
  const Source source{rank, stream};
  pieces_.push_back({times_[source], source, std::string(bytes)});
  held_ += bytes.size();
  if (held_ > most_) finish();
}

void MergedOutput::written_at(int rank, agent::OutputStream stream, std::int64_t time) {
  auto& known = times_[{rank, stream}];
  known = std::max(known, time);  // A clock that was set back does not change the order of bytes.
}

void MergedOutput::finish() {
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
