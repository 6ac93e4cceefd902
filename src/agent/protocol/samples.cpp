#include "agent/protocol/samples.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::agent {
namespace {

constexpr double kThousandths = 1'000;
constexpr std::size_t kSampleWords = 7;

std::string gpu_word(const GpuUsage& gpu) {
  return " " + std::to_string(gpu.index) + ":" +
         (gpu.percent ? std::to_string(*gpu.percent) : "-") + ":" +
         std::to_string(gpu.memory_used.count) + ":" + std::to_string(gpu.memory.count);
}

std::optional<GpuUsage> gpu_in(std::string_view word) {
  const auto parts = split(word, ':');
  if (parts.size() != 4) return std::nullopt;
  const auto index = to_number<int>(parts[0]);
  const auto percent = to_number<int>(parts[1]);
  const auto used = to_number<std::uint64_t>(parts[2]);
  const auto memory = to_number<std::uint64_t>(parts[3]);
  if (!index || !used || !memory || (!percent && parts[1] != "-")) return std::nullopt;
  return GpuUsage{.index = *index, .percent = percent, .memory_used = {*used}, .memory = {*memory}};
}

std::optional<UsageSample> sample_in(std::string_view line) {
  const auto words = split_words(line);
  if (words.size() < kSampleWords) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < kSampleWords; ++i) {
    const auto number = to_number<std::uint64_t>(words[i]);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  UsageSample sample{.ended = static_cast<std::int64_t>(numbers[0]),
                     .span = std::chrono::milliseconds(static_cast<std::int64_t>(numbers[1])),
                     .usage = {.busy = static_cast<double>(numbers[2]) / kThousandths,
                               .memory_used = {numbers[3]},
                               .memory = {numbers[4]},
                               .received_each_second = {numbers[5]},
                               .sent_each_second = {numbers[6]}}};
  for (std::size_t i = kSampleWords; i < words.size(); ++i) {
    const auto gpu = gpu_in(words[i]);
    if (!gpu) return std::nullopt;
    sample.usage.gpus.push_back(*gpu);
  }
  return sample;
}

/// Averages of two samples, weighted by their spans.
class Mean {
 public:
  Mean(const UsageSample& a, const UsageSample& b)
      : share_(b.span.count() > 0 ? static_cast<double>(b.span.count()) /
                                        static_cast<double>((a.span + b.span).count())
                                  : 0) {}

  double of(double a, double b) const { return a + (b - a) * share_; }
  Bytes of(Bytes a, Bytes b) const {
    return {static_cast<std::uint64_t>(
        std::llround(of(static_cast<double>(a.count), static_cast<double>(b.count))))};
  }
  std::optional<int> of(std::optional<int> a, std::optional<int> b) const {
    if (!a || !b) return a ? a : b;
    return static_cast<int>(std::lround(of(static_cast<double>(*a), static_cast<double>(*b))));
  }

 private:
  double share_;  ///< The share of the second sample.
};

UsageSample merged_sample(const UsageSample& a, const UsageSample& b) {
  const Mean mean(a, b);
  UsageSample out{.ended = b.ended, .span = a.span + b.span, .usage = b.usage};
  out.usage.busy = mean.of(a.usage.busy, b.usage.busy);
  out.usage.memory_used = mean.of(a.usage.memory_used, b.usage.memory_used);
  out.usage.received_each_second =
      mean.of(a.usage.received_each_second, b.usage.received_each_second);
  out.usage.sent_each_second = mean.of(a.usage.sent_each_second, b.usage.sent_each_second);
  for (GpuUsage& gpu : out.usage.gpus) {
    const auto before = std::ranges::find(a.usage.gpus, gpu.index, &GpuUsage::index);
    if (before == a.usage.gpus.end()) continue;
    gpu.percent = mean.of(before->percent, gpu.percent);
    gpu.memory_used = mean.of(before->memory_used, gpu.memory_used);
  }
  return out;
}

}  // namespace

std::string sample_line(const UsageSample& sample) {
  const NodeUsage& usage = sample.usage;
  std::string line = std::to_string(sample.ended) + " " + std::to_string(sample.span.count()) +
                     " " + std::to_string(std::lround(usage.busy * kThousandths));
  for (const Bytes bytes :
       {usage.memory_used, usage.memory, usage.received_each_second, usage.sent_each_second})
    line += " " + std::to_string(bytes.count);
  for (const GpuUsage& gpu : usage.gpus)
    line += gpu_word(gpu);
  return line + "\n";
}

std::vector<UsageSample> parse_samples(std::string_view text) {
  std::vector<UsageSample> samples;
  const bool is_complete = text.ends_with('\n');
  const auto lines = split_lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i + 1 == lines.size() && !is_complete) break;
    if (auto sample = sample_in(lines[i])) samples.push_back(*std::move(sample));
  }
  return samples;
}

std::vector<UsageSample> halved(std::span<const UsageSample> samples) {
  std::vector<UsageSample> half;
  half.reserve(samples.size() / 2 + 1);
  for (std::size_t i = 0; i < samples.size(); i += 2)
    half.push_back(i + 1 < samples.size() ? merged_sample(samples[i], samples[i + 1]) : samples[i]);
  return half;
}

std::string to_text(const JobUsage& usage) {
  Records records;
  std::string lines;
  for (const UsageSample& sample : usage.samples)
    lines += sample_line(sample);
  records.add("samples", lines);
  for (const JobUsage::Counters& one : usage.counters) {
    Records item;
    item.add("rank", one.rank);
    item.add("json", one.json);
    records.add("counters", item);
  }
  for (const JobUsage::Timeline& one : usage.timelines) {
    Records item;
    item.add("rank", one.rank);
    item.add("path", one.path);
    item.add("size", static_cast<std::int64_t>(one.size));
    records.add("timeline", item);
  }
  return records.text();
}

JobUsage parse_job_usage(std::string_view text) {
  const Records records(text, "the usage of a job");
  JobUsage usage{.samples = parse_samples(records.get("samples"))};
  for (const Records& item : records.nested("counters", "counters of a rank"))
    usage.counters.push_back(
        {.rank = static_cast<int>(item.number("rank")), .json = item.get("json")});
  for (const Records& item : records.nested("timeline", "the timeline of a rank"))
    usage.timelines.push_back({.rank = static_cast<int>(item.number("rank")),
                               .path = item.get("path"),
                               .size = static_cast<std::uint64_t>(item.number("size"))});
  return usage;
}

}  // namespace fastgpu::agent
