#include "agent/jobs/usage_sampler.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "agent/files/disk.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenOffers{10'000};  ///< Between two tries to take over.
/// nvidia-smi costs more than everything else together.
constexpr const char* kGpuSeconds = "5";
constexpr std::size_t kMostGpus = 64;

/// Returns the beginning of a file of the kernel, which is enough for what is needed of it.
std::string start_of_kernel_file(const char* path) {
  constexpr std::size_t kMostKernelText = 16'384;
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::string text(kMostKernelText, '\0');
  std::size_t size = 0;
  while (file && size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::string_view value_of(std::string_view text, std::string_view name) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return "0";
  const auto words = split_words(text.substr(at + name.size(), 40));
  return words.empty() ? "0" : words.front();
}

/// Returns the traffic of an interface, a line of /proc/net/dev, as parse_usage() reads it; "" for
/// the loopback and for other lines.
std::string interface_line(std::string_view line) {
  constexpr std::size_t kSentColumn = 8;
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return "";
  const std::string name(trimmed(line.substr(0, colon)));
  const auto columns = split_words(line.substr(colon + 1));
  if (name == "lo" || columns.size() <= kSentColumn) return "";
  const std::string device = "/sys/class/net/" + name + "/device";
  return std::string("net ") + (::access(device.c_str(), F_OK) == 0 ? "device " : "virtual ") +
         std::string(columns[0]) + " " + std::string(columns[kSentColumn]) + "\n";
}

std::string sample_lines(const std::vector<UsageSample>& samples) {
  std::string text;
  for (const UsageSample& sample : samples)
    text += sample_line(sample);
  return text;
}

std::string first_word_of(const std::string& text) {
  return text.substr(0, text.find_first_of(" \n"));
}

std::string first_line_of(const std::string& text) {
  return text.substr(0, text.find('\n')) + "\n";
}

/// Starts nvidia-smi, which goes on until it is killed.
std::optional<process::Child> start_gpu_program() {
  process::Command command{.argv = {"nvidia-smi",
                                    "--query-gpu=index,utilization.gpu,memory.used,memory.total",
                                    "--format=csv,noheader,nounits", "-l", kGpuSeconds}};
  command.in.mode = command.err.mode = process::StreamMode::null;
  command.out.mode = process::StreamMode::pipe;
  command.grouping = process::Grouping::group;
  command.on_parent_death = process::OnParentDeath::kill;
  try {
    std::optional<process::Child> child(std::in_place, command);
    ::fcntl(child->out().get(), F_SETFL, O_NONBLOCK);
    return child;
  } catch (const Error&) {
    return std::nullopt;  // This node has no GPU of NVIDIA.
  }
}

}  // namespace

SampleFile::SampleFile(std::filesystem::path path) : path_(std::move(path)) {
  samples_ = parse_samples(read_file(path_).value_or(""));
  if (!samples_.empty()) write_atomically(path_, sample_lines(samples_));
  file_ = open_for_append(path_);
}

void SampleFile::add(const UsageSample& sample) {
  samples_.push_back(sample);
  if (samples_.size() < kMostSamples) return write_all(file_.get(), sample_line(sample));
  samples_ = halved(samples_);
  span_ *= 2;
  write_atomically(path_, sample_lines(samples_));
  file_ = open_for_append(path_);
}

GpuReadings::GpuReadings() : program_(start_gpu_program()) {}

void GpuReadings::read_output() {
  std::array<char, 4096> bytes{};
  for (;;) {
    const ssize_t got = ::read(program_->out().get(), bytes.data(), bytes.size());
    if (got > 0) {
      unread_.append(bytes.data(), static_cast<std::size_t>(got));
      continue;
    }
    const bool has_ended = got == 0 || (errno != EAGAIN && errno != EINTR);
    if (!has_ended) return;
    program_->release();  // Its process may be reaped with others, and its id used again.
    program_.reset();
    return last_.clear();
  }
}

std::string GpuReadings::lines() {
  if (program_) read_output();
  for (auto end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
    std::string line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    std::erase(line, ',');
    const auto index = leading_number<std::size_t>(line);
    if (!index || *index >= kMostGpus) continue;  // What it prints about a failure.
    if (last_.size() <= *index) last_.resize(*index + 1);
    last_[*index] = "gpu " + line + "\n";
  }
  std::string text;
  for (const std::string& line : last_)
    text += line;
  return text;
}

UsageSampler::UsageSampler(const std::filesystem::path& job_directory)
    : path_(samples_file(job_directory)), next_(SteadyClock::now() + SampleFile::kShortestSpan) {}

int UsageSampler::wait() const noexcept {
  const auto left = std::chrono::ceil<milliseconds>(next_ - SteadyClock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kBetweenOffers.count()));
}

void UsageSampler::look() noexcept try {
  const auto now = SteadyClock::now();
  if (now < next_) return;
  next_ = now + kBetweenOffers;
  if (!lock_) take_over();
  if (!lock_) return;
  next_ = now + file_->span();
  sample();
} catch (const std::exception&) {
  return;  // The disk is full, for example: the report lacks this sample.
}

void UsageSampler::take_over() {
  make_private_directory(path_.parent_path());
  auto lock = try_lock(path_.string() + ".lock");
  if (!lock) return;
  file_.emplace(path_);
  gpus_.emplace();
  lock_ = std::move(lock);
}

void UsageSampler::sample() {
  const auto now = SteadyClock::now();
  const UsageCounters counters = read_counters(gpus_->lines());
  const auto before = std::exchange(last_, counters);
  const auto span = std::chrono::duration_cast<milliseconds>(now - sampled_at_);
  sampled_at_ = now;
  if (before)
    file_->add({.ended = now_ns(), .span = span, .usage = usage_between(*before, counters)});
}

std::filesystem::path samples_file(const std::filesystem::path& job_directory) {
  return job_directory / "samples" / host_name();
}

UsageCounters read_counters(const std::string& gpu_lines) {
  const std::string memory = start_of_kernel_file("/proc/meminfo");
  std::string text = "uptime " + first_word_of(start_of_kernel_file("/proc/uptime")) + "\n" +
                     first_line_of(start_of_kernel_file("/proc/stat")) + "memory " +
                     std::string(value_of(memory, "MemTotal:")) + " " +
                     std::string(value_of(memory, "MemAvailable:")) + "\n";
  const std::string interfaces = start_of_kernel_file("/proc/net/dev");
  for (const std::string_view line : split_lines(interfaces))
    text += interface_line(line);
  return parse_usage(text + gpu_lines);
}

}  // namespace fastgpu::agent
