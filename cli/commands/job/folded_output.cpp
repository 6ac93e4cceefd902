#include "cli/commands/job/folded_output.hpp"

namespace fastgpu::cli {
namespace {

/// Returns a line as a terminal shows it at the end: what is behind its last carriage return.
std::string_view shown(std::string_view line) {
  while (line.ends_with('\r'))
    line.remove_suffix(1);
  const auto start = line.rfind('\r');
  return start == std::string_view::npos ? line : line.substr(start + 1);
}

}  // namespace

void FoldedOutput::output(int rank, agent::OutputStream stream, std::string_view bytes) {
  if (rank == agent::kLauncherRank) return to_.output(rank, stream, bytes);
  std::string& unfinished = unfinished_[{rank, stream}];
  held_ += bytes.size();
  for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos;
       bytes.remove_prefix(end + 1)) {
    unfinished += bytes.substr(0, end);
    add(rank, stream, shown(unfinished));
    unfinished.clear();
  }
  unfinished += bytes;
  if (held_ > most_) show_all();
}

void FoldedOutput::add(int rank, agent::OutputStream stream, std::string_view line) {
  const std::string text(line);
  const std::size_t time = written_[{{rank, stream}, text}]++;
  std::vector<std::size_t>& times = times_[{stream, text}];
  if (time == times.size()) {
    times.push_back(lines_.size());
    lines_.push_back({stream, text, {}});
  }
  lines_[times[time]].ranks.insert(rank);
}

void FoldedOutput::show_all() {
  for (const Line& line : lines_)
    show_(line.ranks, line.stream, line.text);
  lines_.clear();
  times_.clear();
  written_.clear();
  held_ = 0;
}

void FoldedOutput::finish() {
  for (const auto& [source, text] : unfinished_)
    if (!text.empty()) add(source.first, source.second, shown(text));
  unfinished_.clear();
  show_all();
}

}  // namespace fastgpu::cli
