#include "cli/ui/line_mux.hpp"

#include <utility>

#include "cli/ui/sink.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kLongestHeld = 64UL * 1024;

}  // namespace

LineMux::Stream LineMux::add(std::string prefix) {
  streams_.push_back({std::move(prefix), {}});
  return streams_.size() - 1;
}

void LineMux::emit(Stream stream, std::string_view text, bool ends_line) {
  if (unfinished_ != stream) {
    if (unfinished_ != kNobody) pending_ += '\n';
    pending_ += streams_[stream].prefix;
  }
  pending_ += text;
  if (ends_line) pending_ += '\n';
  unfinished_ = ends_line ? kNobody : stream;
}

void LineMux::flush() {
  if (!pending_.empty()) out_.write(std::exchange(pending_, {}));
}

void LineMux::write(Stream stream, std::string_view bytes) {
  std::string& held = streams_[stream].held;
  for (;;) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) break;
    if (held.empty()) {
      emit(stream, bytes.substr(0, end), true);
    } else {
      held += bytes.substr(0, end);
      emit(stream, std::exchange(held, {}), true);
    }
    bytes.remove_prefix(end + 1);
  }
  held += bytes;
  if (held.size() > kLongestHeld) emit(stream, std::exchange(held, {}), false);
  flush();
}

void LineMux::finish(Stream stream) {
  std::string& held = streams_[stream].held;
  if (!held.empty() || unfinished_ == stream) emit(stream, std::exchange(held, {}), true);
  flush();
}

void LineMux::finish_all() {
  for (Stream stream = 0; stream < streams_.size(); ++stream)
    finish(stream);
}

}  // namespace fastgpu::cli
