#include "ssh/preamble.hpp"

#include <algorithm>

#include "base/names.hpp"
#include "base/random.hpp"

namespace fastgpu::ssh {
namespace {

constexpr std::size_t kMostKept = 4096;
constexpr std::size_t kMostShown = 300;

}  // namespace

std::string new_mark() {
  return "fastgpu-" + random_hex(16);
}

std::string print_marks(const std::string& out, const std::string& err) {
  return "echo >&2; echo " + err + " >&2; echo; echo " + out + "; ";
}

std::string_view Preamble::behind(std::string_view piece) {
  if (!ended_) {
    const std::size_t before = recent_.size();
    recent_ += piece;
    const auto found = recent_.find(mark_);
    ended_ = found != recent_.npos;
    const std::size_t used = ended_ ? found + mark_.size() - before : piece.size();
    text_ += piece.substr(0, std::min(used, kMostKept - std::min(text_.size(), kMostKept)));
    if (!ended_) {
      recent_.erase(0, recent_.size() - std::min(recent_.size(), mark_.size()));
      return {};
    }
    if (const auto at = text_.find(mark_); at != text_.npos) text_.resize(at);
    recent_.clear();
    wants_newline_ = true;
    piece.remove_prefix(used);
  }
  while (wants_newline_ && !piece.empty()) {  // A terminal's line end has two characters.
    wants_newline_ = piece.front() != '\n';
    piece.remove_prefix(1);
  }
  return piece;
}

std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!is_space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (line.ends_with(' '))
    line.pop_back();
  return printable(line, kMostShown);
}

}  // namespace fastgpu::ssh
