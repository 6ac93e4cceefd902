// Many streams on one screen: every line whole, each with the prefix of its stream.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

class Sink;

/// Lines up to 64 KiB come out in one piece. Of a longer line the beginning is written before its
/// end is known, so that an endless one takes no endless memory; should another stream speak
/// meanwhile, the line is broken there and goes on under its prefix. Bytes are never lost.
class LineMux {
 public:
  explicit LineMux(Sink& out) : out_(out) {}

  using Stream = std::size_t;
  Stream add(std::string prefix);

  void write(Stream stream, std::string_view bytes);
  void finish(Stream stream);  ///< Writes what is left of it, with the end of line it lacks.
  void finish_all();

 private:
  struct State {
    std::string prefix;
    std::string held;
  };
  void emit(Stream stream, std::string_view text, bool ends_line);
  void flush();

  Sink& out_;
  std::vector<State> streams_;
  std::string pending_;               ///< Made, not yet written: one write for many short lines.
  std::size_t unfinished_ = kNobody;  ///< Whose line stands open on the screen.
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);
};

}  // namespace fastgpu::cli
