#include "cli/commands/node/remote_output.hpp"

#include <array>

#include "base/counted.hpp"
#include "base/utf8.hpp"
#include "cli/commands/shared/cluster_options.hpp"
#include "cli/workflows/contact.hpp"
#include "cli/workflows/lookup.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::array kHostColors = {Color::cyan, Color::green, Color::yellow, Color::magenta,
                                    Color::blue};

Styled prefix_of(const std::string& name, std::size_t number, bool colored) {
  Styled prefix = Styled::painted(escaped(name, Layout::one_line) + ":",
                                  kHostColors[number % kHostColors.size()], colored);
  prefix += " ";
  return prefix;
}

}  // namespace

std::string host_line(const NodeName& host, std::string_view message) {
  const std::string prefix = host.value + ": ";
  const bool named = message.starts_with(prefix) || message.starts_with(host.value + " (");
  return (named ? "" : prefix) + std::string(message) + "\n";
}

std::string with_prefix(std::string_view prefix, std::string_view text) {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux lines(sink, cursor);
  lines.write(lines.add(Styled{escaped(prefix, Layout::one_line)}), text);
  lines.finish_all();
  return sink.text;
}

void StreamingSink::UiSink::write(std::string_view bytes) {
  if (channel == remote::OutputChannel::err || context.ui().wants_document())
    return context.ui().program_errors(bytes);
  output.write(bytes);
}

void PlainSink::output(std::size_t /*host*/, remote::OutputChannel channel, std::string_view text) {
  if (channel == remote::OutputChannel::err) return context_.ui().program_errors(text);
  out_.write(text);
}

StreamingSink::StreamingSink(Context& context, const std::vector<std::string>& names)
    : out_(context, remote::OutputChannel::out),
      err_(context, remote::OutputChannel::err),
      out_lines_(out_, cursor_),
      err_lines_(err_, context.ui().terminal().shared ? cursor_ : err_cursor_) {
  const Terminal& terminal = context.ui().terminal();
  for (std::size_t i = 0; i < names.size(); ++i) {
    out_lines_.add(prefix_of(names[i], i, terminal.color_out));
    err_lines_.add(prefix_of(names[i], i, terminal.color_err));
  }
}

void StreamingSink::output(std::size_t host, remote::OutputChannel channel, std::string_view text) {
  if (channel == remote::OutputChannel::out)
    out_lines_.write(host, text);
  else
    err_lines_.write(host, text);
}

void StreamingSink::ended(std::size_t host) {
  out_lines_.finish(host);
  err_lines_.finish(host);
}

void CountedSink::ended(std::size_t host) {
  inner_.ended(host);
  running_.erase(names_[host]);
  if (!ui_.terminal().err) return;
  if (running_.empty()) return ui_.end_progress();
  const std::vector<std::string> left(running_.begin(), running_.end());
  ui_.progress(
      "running on " + counted(names_.size(), "node"),
      std::to_string(names_.size() - left.size()) + " done, waiting for " + fold_names(left));
}

}  // namespace fastgpu::cli
