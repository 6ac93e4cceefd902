// The output of a job's ranks, on the user's screen.
#pragma once

#include <map>
#include <string>

#include "cli/program/context.hpp"
#include "cli/ui/line_mux.hpp"
#include "launcher/following.hpp"

namespace fastgpu::cli {

enum class RankLabels : std::uint8_t {
  shown,  ///< "[rank] text", line by line.
  none,   ///< The unchanged bytes.
};

enum class LauncherWords : std::uint8_t { shown, dropped };

/// An output on the user's streams: the ranks' stdout goes to stdout, the rest to stderr. Under -o
/// json all of it goes to stderr, because stdout then has one document. When the reader of stdout
/// is gone, it requests the whole program to stop.
class JobOutput : public launcher::JobObserver {
 public:
  JobOutput(Context& context, RankLabels labels);
  void output(int rank, agent::OutputStream stream, std::string_view bytes) override;
  void rank_ended(const agent::RankEnd& end, const NodeName& node) override;
  void disk_full(const NodeName& node, const std::string& path) override;
  void connection_lost(const NodeName& node, const Error& error) override;

  /// Ends open lines. mpirun's own messages are shown only now, and only if that is wanted: they
  /// mostly repeat ours at greater length.
  void finish(LauncherWords words);
  bool closed() const noexcept { return out_.closed; }

 private:
  struct Stdout final : Sink {
    explicit Stdout(Context& context_of) : context(context_of) {}
    void write(std::string_view bytes) override;
    Context& context;
    bool closed = false;
  };
  struct Stderr final : Sink {
    explicit Stderr(Context& context_of) : context(context_of) {}
    void write(std::string_view bytes) override { context.ui().program_errors(bytes); }
    Context& context;
  };
  using Streams = std::map<int, LineMux::Stream>;

  static LineMux::Stream stream_of(int rank, bool colored, LineMux& lines, Streams& streams);

  Context& context_;
  RankLabels labels_;
  Stdout out_;
  Stderr err_;
  LineMux::Cursor cursor_;      ///< The position in stdout, and in stderr if both go to one place.
  LineMux::Cursor err_cursor_;  ///< The position in stderr otherwise.
  LineMux out_lines_;
  LineMux err_lines_;
  Streams out_streams_;
  Streams err_streams_;
  std::string launcher_words_;  ///< The first 64 KiB of mpirun's messages.
};

}  // namespace fastgpu::cli
