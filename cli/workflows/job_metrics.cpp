#include "cli/workflows/job_metrics.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "launcher/linked_cancel.hpp"

namespace fastgpu::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr agent::Tail kFirstLines{200, agent::TailOf::log};
constexpr agent::Tail kMostCurveLines{100'000, agent::TailOf::log};
constexpr milliseconds kMetricsTimeout{5'000};
constexpr milliseconds kCurvesTimeout{30'000};
constexpr milliseconds kOverlap{2'000};  ///< Readings overlap, because clocks and answers differ.
constexpr std::size_t kMostKept = std::size_t{64} << 10U;
constexpr std::size_t kMostOfLine = 4'096;

/// Keeps the end of the two streams of a rank.
class EndOfOutput final : public launcher::JobObserver {
 public:
  void output(int rank, agent::OutputStream stream, std::string_view bytes) override {
    if (rank != 0) return;
    Kept& kept = kept_for(stream);
    kept.text += bytes;
    if (kept.text.size() > 2 * kMostKept) kept.text.erase(0, kept.text.size() - kMostKept);
  }

  void written_at(int rank, agent::OutputStream stream, std::int64_t time) override {
    if (rank == 0) kept_for(stream).time = time;
  }

  /// Returns the metrics of the stream that was written last and has some.
  std::vector<PrintedMetric> metrics() const {
    const bool out_first = out_.time >= err_.time;
    auto found = last_metrics(out_first ? out_.text : err_.text);
    return found.empty() ? last_metrics(out_first ? err_.text : out_.text) : found;
  }

 private:
  struct Kept {
    std::string text{};
    std::int64_t time = 0;
  };

  Kept& kept_for(agent::OutputStream stream) {
    return stream == agent::OutputStream::out ? out_ : err_;
  }

  Kept out_;
  Kept err_;
};

/// Collects the lines of a rank's two streams.
class CurveObserver final : public launcher::JobObserver {
 public:
  void output(int rank, agent::OutputStream stream, std::string_view bytes) override {
    if (rank != 0) return;
    Held& held = held_for(stream);
    for (std::size_t end = 0; (end = bytes.find_first_of("\r\n")) != std::string_view::npos;
         bytes.remove_prefix(end + 1)) {
      keep(held.text, bytes.substr(0, end));
      curves_.add(held.time, held.text);
      held.text.clear();
    }
    keep(held.text, bytes);
  }

  void written_at(int rank, agent::OutputStream stream, std::int64_t time) override {
    if (rank == 0) held_for(stream).time = time;
  }

  /// Returns the curves, with the lines that have no end.
  std::vector<MetricCurve> finish() {
    for (const Held* held : {&out_, &err_})
      curves_.add(held->time, held->text);
    return curves_.curves();
  }

 private:
  struct Held {
    std::string text{};
    std::int64_t time = 0;
  };

  /// Keeps the beginning of a line, of which alone is read.
  static void keep(std::string& line, std::string_view more) {
    line += more.substr(0, kMostOfLine - std::min(line.size(), kMostOfLine));
  }

  Held& held_for(agent::OutputStream stream) {
    return stream == agent::OutputStream::out ? out_ : err_;
  }

  Held out_;
  Held err_;
  MetricCurves curves_;
};

}  // namespace

std::vector<MetricCurve> curves_of(Services& services, const OpenJob& open,
                                   const std::vector<NodeName>& absent) try {
  for (const launcher::NodeRanks& ranks : open.record.placement)
    if (ranks.first == 0 && contains(absent, ranks.node)) return {};
  CurveObserver lines;
  const launcher::LinkedCancel stop(services.cancel(), kCurvesTimeout);
  engine_for(services, open.cluster, open.record)
      ->logs(open.run(), open.record, {.rank = 0, .tail = kMostCurveLines, .times = true}, lines,
             stop.both());
  return lines.finish();
} catch (const Error&) {
  services.cancel().check();
  return {};
}

const std::vector<PrintedMetric>& JobMetrics::read(const std::string& job) {
  Reading& known = readings_[job];
  try {
    const OpenJob open = open_job(services_, job);
    const auto now = steady_clock::now();
    launcher::LogRequest request{.rank = 0, .times = true};
    if (known.run == open.run())
      request.since = kOverlap + std::chrono::duration_cast<milliseconds>(now - known.when);
    else
      request.tail = kFirstLines;
    EndOfOutput output;
    const launcher::LinkedCancel stop(services_.cancel(), kMetricsTimeout);
    engine_for(services_, open.cluster, open.record)
        ->logs(open.run(), open.record, request, output, stop.both());
    auto found = output.metrics();
    if (known.run != open.run() || !found.empty()) known.metrics = std::move(found);
    known.run = open.run();
    known.when = now;
  } catch (const Error&) {  // The row of its node shows why.
  }
  return known.metrics;
}

}  // namespace fastgpu::cli
