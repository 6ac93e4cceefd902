// The nodes that a command runs on, and the display of their output.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/shared/program_output.hpp"
#include "cli/program/app.hpp"
#include "cli/program/context.hpp"
#include "cli/ui/line_mux.hpp"
#include "cli/workflows/name_folding.hpp"
#include "remote/exec.hpp"

namespace fastgpu::cli {

/// The exit code of shells for a program whose output has lost its reader: 128 + SIGPIPE.
inline constexpr int kBrokenPipe = 141;

/// Returns "NAME: message". If `message` begins with the name already, alone or with the address
/// after it, the name is not repeated.
std::string host_line(const NodeName& host, std::string_view message);

/// Returns `text` with `prefix` before each line and a line end at its end.
std::string with_prefix(std::string_view prefix, std::string_view text);

/// Shows the lines of all hosts as they arrive, each with its host's name before it. Under -o json,
/// everything goes to stderr, because stdout has a document.
class StreamingSink final : public remote::OutputSink {
 public:
  StreamingSink(Context& context, const std::vector<std::string>& names);
  void output(std::size_t host, remote::OutputChannel channel, std::string_view text) override;
  void ended(std::size_t host) override;
  bool closed() const noexcept { return out_.output.closed(); }
  int exit_code_after(int code) const noexcept { return out_.output.exit_code_after(code); }

 private:
  struct UiSink final : Sink {
    UiSink(Context& context_of, remote::OutputChannel channel_of)
        : context(context_of), channel(channel_of), output(context_of) {}
    void write(std::string_view bytes) override;
    Context& context;
    remote::OutputChannel channel;
    ProgramOutput output;
  };

  UiSink out_;
  UiSink err_;
  /// The open line of stdout, and of stderr if both go to the same place.
  LineMux::Cursor cursor_;
  LineMux::Cursor err_cursor_;  ///< The open line of stderr otherwise.
  LineMux out_lines_;
  LineMux err_lines_;
};

/// Passes the output of one host on as it comes, without its name.
class PlainSink final : public remote::OutputSink {
 public:
  explicit PlainSink(Context& context) : context_(context), out_(context) {}
  void output(std::size_t host, remote::OutputChannel channel, std::string_view text) override;
  const ProgramOutput& out() const noexcept { return out_; }

 private:
  Context& context_;
  ProgramOutput out_;
};

/// Passes output on to `inner`. On a terminal, also shows how many of several hosts have ended, and
/// the names of the others.
class CountedSink final : public remote::OutputSink {
 public:
  CountedSink(Ui& ui, remote::OutputSink& inner, const std::vector<std::string>& names)
      : ui_(ui), inner_(inner), running_(names.begin(), names.end()), names_(names) {}
  void output(std::size_t host, remote::OutputChannel channel, std::string_view text) override {
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
