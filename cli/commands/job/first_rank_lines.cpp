#include "cli/commands/job/first_rank_lines.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kLongestHeldLine = std::size_t{16} << 20;

}  // namespace

void FirstRankLines::output(int rank, agent::OutputStream stream, std::string_view bytes) {
  if (rank != 0 || stream != agent::OutputStream::out)
    return JobOutput::output(rank, stream, bytes);
  unfinished_ += bytes;
  std::size_t from = 0;
  for (std::size_t end = 0; (end = unfinished_.find('\n', from)) != std::string::npos;
       from = end + 1)
    take(unfinished_.substr(from, end - from));
  unfinished_.erase(0, from);
  if (unfinished_.size() > kLongestHeldLine) {
    fail(Error(ErrorKind::remote, "rank 0 wrote a line that is too long"));
    unfinished_.clear();
  }
}

void FirstRankLines::check() const {
  first_failure_.value();
}

void FirstRankLines::take(const std::string& line) try { take_(line); } catch (const Error& e) {
  fail(e.during("rank 0"));
}

void FirstRankLines::fail(const Error& why) {
  if (first_failure_.ok()) first_failure_ = why;
}

}  // namespace fastgpu::cli
