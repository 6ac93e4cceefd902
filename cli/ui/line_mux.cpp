#include "cli/ui/line_mux.hpp"

#include <algorithm>
#include <utility>

#include "cli/ui/sink.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kShortLine = 64UL * 1024;
/// A longer text is written without a copy.
constexpr std::size_t kMostPending = 1UL << 20U;
constexpr std::chrono::seconds kBreakInterval{1};
constexpr std::string_view kNoColors = "\x1b[0m";
constexpr std::size_t kMostColors = 256;

/// Takes the sequences for colours in `text`: "\x1b[31m" is added, "\x1b[0m" and "\x1b[m" end all.
void note_colors(std::string& colors, std::string_view text) {
  for (std::size_t at = text.find("\x1b["); at != text.npos; at = text.find("\x1b[", at + 1)) {
    const std::size_t end = text.find_first_not_of("0123456789;:", at + 2);
    if (end == text.npos || text[end] != 'm') continue;
    const std::string_view sequence = text.substr(at, end + 1 - at);
    const std::string_view numbers = text.substr(at + 2, end - at - 2);
    if (numbers.empty() || numbers == "0" || numbers.starts_with("0;")) colors.clear();
    if (numbers.find_first_not_of("0;") == numbers.npos) continue;
    if (colors.size() + sequence.size() <= kMostColors) colors += sequence;
  }
}

}  // namespace

LineMux::Stream LineMux::add(Styled prefix) {
  streams_.push_back({.prefix = std::move(prefix)});
  return streams_.size() - 1;
}

void LineMux::set_prefix(Stream stream, Styled prefix) {
  State& state = streams_[stream];
  const bool has_begun = !state.held.empty() || is_open(stream);
  if (has_begun)
    state.next = std::move(prefix);
  else
    state.prefix = std::move(prefix);
}

/// Appends `text` to the pending output. After each carriage return that is followed by text,
/// inserts the stream's prefix.
void LineMux::append(State& state, std::string_view text) {
  while (!text.empty()) {
    if (text.front() == '\r') {
      pending_ += '\r';
      state.returned = true;
      text.remove_prefix(1);
      continue;
    }
    if (std::exchange(state.returned, false)) pending_ += state.prefix.str();
    const std::size_t end = std::min(text.find('\r'), text.size());
    add_pending(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void LineMux::add_pending(std::string_view text) {
  if (text.size() <= kMostPending) {
    pending_ += text;
    return;
  }
  flush();
  out_.write(text);
}

/// Returns the unfinished line, which is empty from then on.
std::string LineMux::take_held(State& state) {
  held_ -= state.held.size();
  return std::exchange(state.held, {});
}

/// Ends the colours of a line that ends here.
void LineMux::end_colors(const State& state) {
  if (!state.colors.empty()) pending_ += kNoColors;
}

void LineMux::emit(Stream stream, std::string_view text, bool ends_line) {
  State& state = streams_[stream];
  if (!is_open(stream)) {
    if (cursor_.mux != nullptr) {
      end_colors(cursor_.mux->streams_[cursor_.stream]);
      pending_ += '\n';
    }
    // At the beginning of a line, further carriage returns have no effect.
    text.remove_prefix(std::min(text.find_first_not_of('\r'), text.size()));
    pending_ += state.prefix.str();
    pending_ += state.colors;
    state.returned = false;
  }
  append(state, text);
  note_colors(state.colors, text);
  if (ends_line) {
    end_colors(state);
    pending_ += '\n';
  }
  cursor_ = ends_line ? Cursor{} : Cursor{this, stream};
  if (!ends_line) state.emitted = now_();
  if (ends_line && state.next) state.prefix = *std::exchange(state.next, std::nullopt);
}

void LineMux::flush() {
  if (!pending_.empty()) out_.write(std::exchange(pending_, {}));
}

/// Returns true if the unfinished line in `state` should be shown now.
bool LineMux::may_show(const State& state, Stream stream) const {
  if (held_ > kMostHeld && state.held.size() > kShortLine) return true;
  const bool bar = is_open(stream) || state.held.find('\r') != std::string::npos;
  if (!bar || state.held.empty()) return false;
  const bool breaks_another = cursor_.mux != nullptr && !is_open(stream);
  return !breaks_another || now_() - state.emitted >= kBreakInterval;
}

void LineMux::write(Stream stream, std::string_view bytes) {
  State& state = streams_[stream];
  for (;;) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) break;
    if (state.held.empty()) {
      emit(stream, bytes.substr(0, end), true);
    } else {
      const std::string line = take_held(state).append(bytes.substr(0, end));
      emit(stream, line, true);
    }
    bytes.remove_prefix(end + 1);
  }
  // A long line gets its room at once: growing by copies would take three times as much.
  if (state.held.size() > kMostPending) state.held.reserve(kMostHeld + kMostPending);
  state.held += bytes;
  held_ += bytes.size();
  if (may_show(state, stream)) emit(stream, take_held(state), false);
  flush();
}

void LineMux::finish(Stream stream) {
  State& state = streams_[stream];
  if (!state.held.empty() || is_open(stream)) emit(stream, take_held(state), true);
  state.colors.clear();
  flush();
}

void LineMux::finish_all() {
  for (Stream stream = 0; stream < streams_.size(); ++stream)
    finish(stream);
}

}  // namespace fastgpu::cli
