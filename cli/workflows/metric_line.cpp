#include "cli/workflows/metric_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/join.hpp"

namespace fastgpu::cli {

namespace {

constexpr std::size_t kLongestMetricLine = 4'096;
constexpr std::size_t kLongestMetricText = std::size_t{64} << 10U;
constexpr std::size_t kLongestMetricName = 32;
constexpr std::size_t kLongestNumber = 24;
constexpr std::size_t kMostMetrics = 6;
constexpr char kEscapeByte = 27;

/// Words that make a name a measure wherever they are in it.
constexpr std::array<std::string_view, 3> kMeasures = {"loss", "accuracy", "perplexity"};
/// Words that make a name a measure if they are one of its parts: "val_acc", "Acc@1", "eval/ppl".
constexpr std::array<std::string_view, 15> kMeasureParts = {
    "acc", "acc1", "acc5", "auc",  "bleu", "cer", "f1",   "iou",
    "mae", "miou", "mse",  "psnr", "ppl",  "wer", "rmse",
};
constexpr std::array<std::string_view, 10> kBeside = {
    "batch", "ep", "epoch", "global_step", "it", "iter", "iteration", "lr", "learning_rate", "step",
};

constexpr bool is_name_letter(char c) {
  return is_ascii_letter_or_digit(c) || c == '_';
}

constexpr bool joins_parts(char c) {
  return c == '@' || c == '/' || c == '.' || c == '-';
}

constexpr bool is_metric_blank(char c) {
  return c == ' ' || c == '\t';
}

/// Returns the text without the escape sequences of terminals.
std::string without_escapes(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != kEscapeByte) {
      out += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[') ++i;
    while (i + 1 < line.size() && !is_ascii_letter(line[i + 1]))
      ++i;
    ++i;
  }
  return out;
}

bool has_measure_part(std::string_view name) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && name[i] != '_' && !joins_parts(name[i])) continue;
    if (contains(kMeasureParts, name.substr(begin, i - begin))) return true;
    begin = i + 1;
  }
  return false;
}

/// Reads names and numbers from the beginning of a line to its end.
class MetricReader {
 public:
  explicit MetricReader(std::string_view line) : line_(line) {}

  std::vector<PrintedMetric> read() {
    std::vector<PrintedMetric> found;
    bool has_measure = false;
    while (at_ < line_.size() && found.size() < kMostMetrics) {
      const std::string name = next_name();
      if (name.empty() || name.size() > kLongestMetricName) continue;
      const bool measures = is_measure(name);
      if (!measures && !contains(kBeside, ascii_lower(name))) continue;
      auto metric = number_of(name);
      if (!metric || contains(found, name, &PrintedMetric::name)) continue;
      has_measure = has_measure || measures;
      found.push_back(std::move(*metric));
    }
    if (!has_measure) found.clear();
    return found;
  }

 private:
  bool is_at(char c) const { return at_ < line_.size() && line_[at_] == c; }

  void skip_blanks() {
    while (at_ < line_.size() && is_metric_blank(line_[at_]))
      ++at_;
  }

  void skip_quote() {
    if (is_at('"') || is_at('\'')) ++at_;
  }

  /// Returns the word at the cursor and moves behind it; "" for a word that begins with no letter.
  std::string next_name() {
    const std::size_t begin = at_;
    while (at_ < line_.size() && (is_name_letter(line_[at_]) || continues_name(begin)))
      ++at_;
    if (at_ == begin) {
      ++at_;
      return "";
    }
    return is_ascii_letter(line_[begin]) ? std::string(line_.substr(begin, at_ - begin)) : "";
  }

  /// Returns true for a mark between two parts of the name that begins at `begin`. A number may
  /// follow '@' alone: "Acc@1", but "loss-0.5".
  bool continues_name(std::size_t begin) const {
    if (at_ == begin || !joins_parts(line_[at_]) || at_ + 1 >= line_.size()) return false;
    const char next = line_[at_ + 1];
    return is_ascii_letter(next) || (line_[at_] == '@' && is_ascii_digit(next));
  }

  /// Reads the number that belongs to the name before the cursor; absent without one. Moves the
  /// cursor behind what was read.
  std::optional<PrintedMetric> number_of(const std::string& name) {
    const std::size_t end_of_name = at_;
    skip_quote();
    skip_blanks();
    if (is_at('=') || is_at(':')) ++at_;
    skip_blanks();
    for (const std::string_view opening : {"tensor(", "[", "(", "\"", "'"})
      if (line_.substr(at_).starts_with(opening)) at_ += opening.size();
    skip_blanks();
    if (at_ == end_of_name) return std::nullopt;
    PrintedMetric metric{.name = name, .text = {}};
    const char* const begin = line_.data() + at_;
    const char* const end = line_.data() + line_.size();
    const auto [stop, error] = std::from_chars(begin, end, metric.value);
    const auto length = static_cast<std::size_t>(stop - begin);
    if (error != std::errc() || length > kLongestNumber || goes_on(at_ + length))
      return std::nullopt;
    metric.text = std::string(begin, length);
    at_ += length;
    return metric;
  }

  /// Returns true if a number that ends at `at` is part of something else, such as "5ms",
  /// "1.2.3" or "12:30".
  bool goes_on(std::size_t at) const {
    if (at >= line_.size()) return false;
    const bool has_more = at + 1 < line_.size();
    return is_name_letter(line_[at]) ||
           ((line_[at] == ':' || line_[at] == '.') && has_more && is_name_letter(line_[at + 1]));
  }

  std::string_view line_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_measure(std::string_view name) {
  const std::string lower = ascii_lower(name);
  return std::ranges::any_of(
             kMeasures, [&](std::string_view word) { return lower.find(word) != lower.npos; }) ||
         has_measure_part(lower);
}

std::vector<PrintedMetric> metrics_in(std::string_view line) {
  const std::string text = without_escapes(line.substr(0, kLongestMetricLine));
  return MetricReader(text).read();
}

std::vector<PrintedMetric> last_metrics(std::string_view text) {
  if (text.size() > kLongestMetricText) text.remove_prefix(text.size() - kLongestMetricText);
  while (!text.empty()) {
    const std::size_t end = text.find_last_of("\r\n");
    const std::size_t begin = end == std::string_view::npos ? 0 : end + 1;
    auto found = metrics_in(text.substr(begin));
    if (!found.empty()) return found;
    text = text.substr(0, begin == 0 ? 0 : end);
  }
  return {};
}

std::string to_text(const std::vector<PrintedMetric>& metrics) {
  std::vector<std::string> texts;
  for (const PrintedMetric& metric : metrics)
    texts.push_back(metric.name + " " + metric.text);
  return joined(texts);
}

}  // namespace fastgpu::cli
