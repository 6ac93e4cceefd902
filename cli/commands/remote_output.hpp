// Nodes as targets of commands, and what they say on the user's screen.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app.hpp"
#include "cli/context.hpp"
#include "cli/guarding.hpp"
#include "cli/ui/fold.hpp"
#include "cli/ui/line_mux.hpp"
#include "remote/exec.hpp"

namespace fastgpu::cli {

/// What a shell shows for a program that wrote to nobody: 128 + SIGPIPE.
inline constexpr int kBrokenPipe = 141;

struct RemoteTarget {
  state::Cluster cluster;
  std::vector<state::Node> nodes;
  std::vector<ssh::Host> hosts;        ///< One a node.
  AttendancePtr attendance = nullptr;  ///< As long as it is used, somebody looks after the cluster.
};

enum class Coming : std::uint8_t { to_use, to_look };

/// The nodes that "CLUSTER[/NODESET]" names. Throws ErrorKind::conflict, naming the way out, where
/// one of them does not run.
RemoteTarget running_nodes(Context& context, std::string_view text, Coming coming = Coming::to_use);

/// One line about a host; its name stands in front once, whether or not `message` has it, alone or
/// with the address behind it.
std::string host_line(const NodeName& host, std::string_view message);

/// `text` with `prefix` before each line, ending in a newline.
std::string with_prefix(std::string_view prefix, std::string_view text);

/// Writes the lines of all streams as they come, each under its host's name; under -o json all to
/// stderr, for stdout then holds one document. When nobody reads
/// them any more, asks the whole program to stop.
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
  LineMux::Cursor cursor_;      ///< Of stdout, and of stderr if both go to one place.
  LineMux::Cursor err_cursor_;  ///< Of stderr otherwise.
  LineMux out_lines_;
  LineMux err_lines_;
};

/// Hands on what it gets, and shows on a terminal how many of several hosts have ended and which
/// have not.
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
