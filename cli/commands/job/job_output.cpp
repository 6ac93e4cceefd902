#include "cli/commands/job/job_output.hpp"

#include <array>
#include <limits>
#include <string>
#include <utility>

#include "base/time_text.hpp"
#include "base/units.hpp"
#include "base/utf8.hpp"
#include "launcher/engines/mpirun_words.hpp"
#include "launcher/process_names.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kMostWords = 64UL * 1024;
constexpr std::array kRankColors = {Color::cyan, Color::green, Color::yellow, Color::magenta,
                                    Color::blue};

std::string name_of_starter(const launcher::JobSpec& spec) {
  if (spec.engine == launcher::EngineKind::slurm) return "slurm";
  return spec.launcher == launcher::Launcher::plain ? "launcher" : "mpirun";
}

Styled prefix_of(int rank, const std::string& launcher, bool colored) {
  const std::string label =
      "[" + (rank == agent::kLauncherRank ? launcher : std::to_string(rank)) + "]";
  const Color color =
      rank < 0 ? Color::dim : kRankColors[static_cast<std::size_t>(rank) % kRankColors.size()];
  Styled prefix = Styled::painted(label, color, colored);
  prefix += " ";
  return prefix;
}

}  // namespace

void JobOutput::Stdout::write(std::string_view bytes) {
  if (!context.ui().for_people()) return context.ui().program_errors(bytes);
  output.write(bytes);
}

JobOutput::JobOutput(Context& context, RankLabels labels, const launcher::JobSpec& spec)
    : context_(context),
      labels_(labels),
      launcher_(name_of_starter(spec)),
      out_(context),
      err_(context),
      out_lines_(out_, cursor_),
      err_lines_(err_, context.ui().terminal().shared ? cursor_ : err_cursor_) {}

LineMux::Stream JobOutput::stream_of(int rank, bool colored, LineMux& lines,
                                     Streams& streams) const {
  const auto found = streams.find(rank);
  if (found != streams.end()) return found->second;
  return streams[rank] = lines.add(prefix_of(rank, launcher_, colored));
}

void JobOutput::written_at(int rank, agent::OutputStream stream, std::int64_t time) {
  if (labels_ != RankLabels::times || rank == agent::kLauncherRank) return;
  const bool to_stdout = stream == agent::OutputStream::out;
  LineMux& lines = to_stdout ? out_lines_ : err_lines_;
  Streams& streams = to_stdout ? out_streams_ : err_streams_;
  const Terminal& terminal = context_.ui().terminal();
  const bool colored = to_stdout ? terminal.color_out : terminal.color_err;
  Styled prefix = Styled::painted(utc_text_ms(time), Color::dim, colored);
  prefix += " ";
  prefix += prefix_of(rank, launcher_, colored);
  lines.set_prefix(stream_of(rank, colored, lines, streams), prefix);
}

void JobOutput::output(int rank, agent::OutputStream stream, std::string_view bytes) {
  if (rank == agent::kLauncherRank) {
    launcher_words_ += bytes.substr(0, kMostWords - launcher_words_.size());
    return;
  }
  const bool to_stdout = stream == agent::OutputStream::out;
  if (labels_ == RankLabels::none) {
    Sink& sink = to_stdout ? static_cast<Sink&>(out_) : err_;
    return sink.write(bytes);
  }
  const Terminal& terminal = context_.ui().terminal();
  if (to_stdout)
    out_lines_.write(stream_of(rank, terminal.color_out, out_lines_, out_streams_), bytes);
  else
    err_lines_.write(stream_of(rank, terminal.color_err, err_lines_, err_streams_), bytes);
}

void JobOutput::line_of(const std::set<int>& ranks, agent::OutputStream stream,
                        std::string_view line) {
  constexpr int kFolded = std::numeric_limits<int>::min();  // The stream of all such lines.
  const bool to_stdout = stream == agent::OutputStream::out;
  LineMux& lines = to_stdout ? out_lines_ : err_lines_;
  const Terminal& terminal = context_.ui().terminal();
  const bool colored = to_stdout ? terminal.color_out : terminal.color_err;
  const auto number = stream_of(kFolded, colored, lines, to_stdout ? out_streams_ : err_streams_);
  Styled prefix = Styled::painted("[" + launcher::rank_list(ranks) + "]", Color::bold, colored);
  prefix += " ";
  if (ranks.size() == 1) prefix = prefix_of(*ranks.begin(), launcher_, colored);
  lines.set_prefix(number, prefix);
  lines.write(number, std::string(line) + "\n");
  lines.finish(number);  // The colours that a rank leaves on are not for the lines of others.
}

void JobOutput::queued(const std::string& run, const std::string& reason) {
  const std::string text = "job " + run + " " + reason;
  // The reasons of a full queue alternate. Each is a line once, and the present one is with the
  // time that has passed.
  if (!reason.empty() && queue_reasons_.insert(reason).second) context_.ui().note(text);
  context_.ui().waiting(reason.empty() ? "waiting for job " + run + " to end" : text);
}

void JobOutput::rank_ended(const agent::RankEnd& end, const NodeName&) {
  if (const auto found = out_streams_.find(end.rank); found != out_streams_.end())
    out_lines_.finish(found->second);
  if (const auto found = err_streams_.find(end.rank); found != err_streams_.end())
    err_lines_.finish(found->second);
}

void JobOutput::disk_full(const NodeName& node, const std::string& path) {
  context_.ui().warn("no space left on " + node.value + ": " + path +
                     ": logs there are incomplete");
}

void JobOutput::connection_lost(const NodeName& node, const Error& error) {
  context_.ui().warn(node.value + " does not answer, retrying: " + error.what());
}

void JobOutput::node_left(const NodeName& node) {
  context_.ui().warn("node " + node.value +
                     " is no longer in the cluster: the output of the ranks there is missing");
}

void JobOutput::launcher_stays(const NodeName& first, std::chrono::milliseconds ago) {
  context_.ui().warn("all ranks ended " + to_string(ago) + " ago, but " + launcher_ + " on " +
                     first.value +
                     " runs on: a program of it may hang on a node; `fastgpu cancel job` ends it");
}

void JobOutput::starts_late(const NodeName& node, std::chrono::milliseconds longest) {
  context_.ui().warn("node " + node.value + " has not begun yet; the job waits " +
                     to_string(longest) + " at most");
}

void JobOutput::stacks(const NodeName& node, std::string_view text) {
  context_.ui().error_data("the ranks on " + node.value + " hang:\n" + std::string(text));
}

void JobOutput::finish(LauncherWords words) {
  out_lines_.finish_all();
  err_lines_.finish_all();
  if (words == LauncherWords::dropped) return;
  const std::string text = launcher::without_forwarding_reports(std::exchange(launcher_words_, {}));
  if (text.empty()) return;
  err_lines_.write(
      stream_of(agent::kLauncherRank, context_.ui().terminal().color_err, err_lines_, err_streams_),
      escaped(text, Layout::kept));
  err_lines_.finish_all();
}

}  // namespace fastgpu::cli
