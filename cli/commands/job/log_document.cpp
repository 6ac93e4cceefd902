#include "cli/commands/job/log_document.hpp"

#include <utility>

#include "base/time_text.hpp"
#include "cli/program/app.hpp"
#include "cli/ui/json_text.hpp"
#include "cli/ui/yaml.hpp"
#include "launcher/engines/mpirun_words.hpp"

namespace fastgpu::cli {
namespace {

/// The maximum length of a line. A longer line is split, to bound the memory.
constexpr std::size_t kLongestLine = std::size_t{1} << 20;

std::string field(std::string_view key, const Json& value, Format format) {
  if (format == Format::yaml) return to_yaml(Json{{key, value}});
  return "  " + json_text(Json(key), -1) + ": " + json_text(value, -1);
}

}  // namespace

LogDocument::LogDocument(Context& context, const std::string& job, LauncherWords words)
    : context_(context), words_(words) {
  const Format format = context_.ui().format();
  const Json head = document("logs");
  if (format == Format::yaml) {
    write(to_yaml(head) + field("job", job, format));
    return;
  }
  write("{\n" + field("schema", head["schema"], format) + ",\n" + field("job", job, format) +
        ",\n  \"lines\": [");
}

void LogDocument::write(const std::string& text) {
  if (closed_) return;
  try {
    context_.ui().show(Styled(text));
  } catch (const OutputClosed&) {
    closed_ = true;
    context_.cancel().request();
  }
}

/// Writes the held line and forgets it. What follows begins a new line.
void LogDocument::line(int rank, agent::OutputStream stream, Held& held) {
  const std::string whole = std::exchange(held.text, {});
  const auto begun = std::exchange(held.begun, held.now);
  std::string_view text = whole;
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (rank == agent::kLauncherRank && launcher::is_forwarding_report(text)) return;
  Json item;
  item["rank"] = rank == agent::kLauncherRank ? Json() : Json(rank);
  item["stream"] = stream == agent::OutputStream::out ? "stdout" : "stderr";
  item["time"] = begun ? Json(utc_text_ms(*begun)) : Json();
  item["text"] = text;
  const std::string json = json_text(item, -1);
  if (context_.ui().format() == Format::yaml)
    write((has_lines_ ? "  - " : "lines:\n  - ") + json + "\n");  // JSON is valid YAML.
  else
    write((has_lines_ ? ",\n    " : "\n    ") + json);
  has_lines_ = true;
}

void LogDocument::output(int rank, agent::OutputStream stream, std::string_view bytes) {
  if (rank == agent::kLauncherRank && words_ == LauncherWords::dropped) return;
  Held& held = held_[{rank, stream}];
  if (held.text.empty()) held.begun = held.now;
  for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos;
       bytes.remove_prefix(end + 1)) {
    held.text += bytes.substr(0, end);
    line(rank, stream, held);
  }
  held.text += bytes;
  if (held.text.size() >= kLongestLine) line(rank, stream, held);
}

void LogDocument::written_at(int rank, agent::OutputStream stream, std::int64_t time) {
  held_[{rank, stream}].now = time;
}

void LogDocument::connection_lost(const NodeName& node, const Error& error) {
  context_.ui().warn(node.value + " does not answer, retrying: " + error.what());
}

void LogDocument::finish(const Error* error) {
  for (auto& [source, held] : held_)
    if (!held.text.empty()) line(source.first, source.second, held);
  held_.clear();
  Json failure;
  if (error != nullptr) failure = {{"kind", word_for(error->kind())}, {"message", error->what()}};
  const Format format = context_.ui().format();
  if (format == Format::yaml) {
    write((has_lines_ ? "" : "lines: []\n") +
          (error == nullptr ? "" : field("error", failure, format)));
    return;
  }
  write(std::string(has_lines_ ? "\n  ]" : "]") +
        (error == nullptr ? "" : ",\n" + field("error", failure, format)) + "\n}\n");
}

}  // namespace fastgpu::cli
