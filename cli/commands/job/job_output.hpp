// Shows the output of a job's ranks.
#pragma once

#include <map>
#include <set>
#include <string>

#include "cli/commands/shared/program_output.hpp"
#include "cli/program/context.hpp"
#include "cli/ui/line_mux.hpp"
#include "launcher/job.hpp"
#include "launcher/job_observer.hpp"

namespace fastgpu::cli {

enum class RankLabels : std::uint8_t {
  shown,  ///< Each line begins with "[rank] ".
  times,  ///< Each line begins with the time at which it was written, and "[rank] ".
  none,   ///< The bytes are shown unchanged.
};

enum class LauncherWords : std::uint8_t { shown, dropped };

/// Writes the ranks' stdout to stdout and everything else to stderr. Under -o json, everything goes
/// to stderr, because stdout has a document.
class JobOutput : public launcher::JobObserver {
 public:
  JobOutput(Context& context, RankLabels labels, const launcher::JobSpec& spec = {});
  void output(int rank, agent::OutputStream stream, std::string_view bytes) override;
  void written_at(int rank, agent::OutputStream stream, std::int64_t time) override;
  void queued(const std::string& run, const std::string& reason) override;
  void rank_ended(const agent::RankEnd& end, const NodeName& node) override;
  void disk_full(const NodeName& node, const std::string& path) override;
  void connection_lost(const NodeName& node, const Error& error) override;
  void node_left(const NodeName& node) override;
  void starts_late(const NodeName& node, std::chrono::milliseconds longest) override;
  void launcher_stays(const NodeName& first, std::chrono::milliseconds ago) override;
  void stacks(const NodeName& node, std::string_view text) override;

  /// Shows a line that these ranks have written.
  void line_of(const std::set<int>& ranks, agent::OutputStream stream, std::string_view line);

  /// Completes unfinished lines. Then shows mpirun's own messages if `words` asks for them. They
  /// come last because they mostly repeat ours at greater length.
  void finish(LauncherWords words);
  bool closed() const noexcept { return out_.output.closed(); }
  int exit_code_after(int code) const noexcept { return out_.output.exit_code_after(code); }

 private:
  struct Stdout final : Sink {
    explicit Stdout(Context& context_of) : context(context_of), output(context_of) {}
    void write(std::string_view bytes) override;
    Context& context;
    ProgramOutput output;
  };
  struct Stderr final : Sink {
    explicit Stderr(Context& context_of) : context(context_of) {}
    void write(std::string_view bytes) override { context.ui().program_errors(bytes); }
    Context& context;
  };
  using Streams = std::map<int, LineMux::Stream>;

  LineMux::Stream stream_of(int rank, bool colored, LineMux& lines, Streams& streams) const;

  Context& context_;
  RankLabels labels_;
  std::string
      launcher_;  ///< The program that starts the ranks: "mpirun". Its lines have it as label.
  Stdout out_;
  Stderr err_;
  /// The open line of stdout, and of stderr if both go to the same place.
  LineMux::Cursor cursor_;
  LineMux::Cursor err_cursor_;  ///< The open line of stderr otherwise.
  LineMux out_lines_;
  LineMux err_lines_;
  Streams out_streams_;
  Streams err_streams_;
  std::set<std::string> queue_reasons_;  ///< Those that were shown; of the reporting thread.
  std::string launcher_words_;           ///< The first 64 KiB of mpirun's messages.
};

}  // namespace fastgpu::cli
