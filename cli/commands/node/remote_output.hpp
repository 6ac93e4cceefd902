// Nodes as targets of commands, and their output on the user's screen.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/program/app.hpp"
#include "cli/program/context.hpp"
#include "cli/ui/line_mux.hpp"
#include "cli/workflows/name_folding.hpp"
#include "remote/exec.hpp"

namespace fastgpu::cli {

/// A shell's exit code for a program whose output had no reader: 128 + SIGPIPE.
inline constexpr int kBrokenPipe = 141;

/// Returns one line about a host. Its name is in front once, even if `message` begins with it,
/// alone or with the address behind it.
std::string host_line(const NodeName& host, std::string_view message);

/// Returns `text` with `prefix` before each line, ending in a newline.
std::string with_prefix(std::string_view prefix, std::string_view text);

/// A sink that writes the lines of all streams as they come, each under its host's name. Under -o
/// json all goes to stderr, because stdout then has one document. When the reader is gone, it
/// requests the whole program to stop.
class StreamingSink final : public remote::OutputSink {
 public:
  StreamingSink(Context& context, const std::vector<std::string>& names);
  void output(std::size_t host, remote::Channel channel, std::string_view text) override;
  void ended(std::size_t host) override;
  bool closed() const noexcept { return out_.closed; }

 private:
  struct UiSink final : Sink {
    UiSink(Context& context_of, remote::Channel channel_of)
        : context(context_of), channel(channel_of) {}
    void write(std::string_view bytes) override;
    Context& context;
    remote::Channel channel;
    bool closed = false;
  };

  UiSink out_;
  UiSink err_;
  LineMux::Cursor cursor_;      ///< The position in stdout, and in stderr if both go to one place.
  LineMux::Cursor err_cursor_;  ///< The position in stderr otherwise.
  LineMux out_lines_;
  LineMux err_lines_;
};

/// A sink that passes its input on. On a terminal it shows how many of several hosts have ended,
/// and the others' names.
class CountedSink final : public remote::OutputSink {
 public:
  CountedSink(Ui& ui, remote::OutputSink& inner, const std::vector<std::string>& names)
      : ui_(ui), inner_(inner), running_(names.begin(), names.end()), names_(names) {}
  void output(std::size_t host, remote::Channel channel, std::string_view text) override {
    inner_.output(host, channel, text);
  }
  void ended(std::size_t host) override;

 private:
  Ui& ui_;
  remote::OutputSink& inner_;
  std::set<std::string> running_;
  const std::vector<std::string>& names_;
};

}  // namespace fastgpu::cli
