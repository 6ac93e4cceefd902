#include "launcher/checks/node_health.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::launcher {
namespace {

constexpr const char* kCheckScript =
#include "templates/nodes/check_node.inc"
    ;
constexpr std::string_view kFirstLine = "fastgpu-check\t1";
constexpr std::size_t kMostFields = 10;
constexpr std::size_t kLongestField = 200;

/// One line of the script: a word and its values.
class FactLine {
 public:
  explicit FactLine(std::string_view line) : line_(line) {
    while (fields_.size() < kMostFields) {
      const std::size_t end = std::min(line.find('\t'), line.size());
      fields_.push_back(line.substr(0, std::min(end, kLongestField)));
      if (end == line.size()) break;
      line.remove_prefix(end + 1);
    }
  }

  std::string_view word() const { return fields_.front(); }

  /// Returns a value, without the bytes that would control a terminal; empty if it is missing.
  std::string text(std::size_t i) const {
    std::string value(field(i));
    std::erase_if(value, [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; });
    return value;
  }

  std::uint64_t number(std::size_t i) const {
    const std::string_view value = field(i);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size()) refuse();
    return number;
  }

  /// Returns a number times `unit`. Throws for a product that is out of range.
  Bytes bytes(std::size_t i, std::uint64_t unit) const {
    const std::uint64_t count = number(i);
    if (unit != 0 && count > UINT64_MAX / unit) refuse();
    return {count * unit};
  }

  int small(std::size_t i) const {
    const std::uint64_t value = number(i);
    if (value > INT32_MAX) refuse();
    return static_cast<int>(value);
  }

  [[noreturn]] void refuse() const {
    throw Error(ErrorKind::remote, "the check has printed '" + printable(line_) + "'");
  }

 private:
  std::string_view field(std::size_t i) const {
    return i + 1 < fields_.size() ? fields_[i + 1] : std::string_view();
  }

  std::string_view line_;
  std::vector<std::string_view> fields_;
};

/// Parses "1700000000.250000000". Some `date` print no fraction, or "%N" in its place.
std::chrono::system_clock::time_point time_of(const FactLine& line) {
  const std::string text = line.text(0);
  const std::size_t dot = std::min(text.find('.'), text.size());
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + dot, seconds);
  constexpr std::int64_t kMost = 8'000'000'000;
  if (error != std::errc{} || end != text.data() + dot || seconds < 0 || seconds > kMost)
    line.refuse();
  std::int64_t nanoseconds = 0;
  const std::string fraction = text.substr(std::min(dot + 1, text.size()));
  if (fraction.size() == 9)
    std::from_chars(fraction.data(), fraction.data() + fraction.size(), nanoseconds);
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanoseconds)));
}

/// Returns the word of a port's state: "ACTIVE" for "4: ACTIVE".
std::string state_word(const std::string& text) {
  const auto space = text.rfind(' ');
  return space == std::string::npos ? text : text.substr(space + 1);
}

class StateReader {
 public:
  void read(const FactLine& line) {
    if (!read_system(line) && !read_gpus(line)) read_rest(line);
  }

  NodeHealth take() { return std::move(state_); }

 private:
  bool read_system(const FactLine& line) {
    const std::string_view word = line.word();
    if (word == "time")
      state_.time = time_of(line);
    else if (word == "host")
      state_.host = line.text(0);
    else if (word == "kernel")
      state_.kernel = line.text(0);
    else if (word == "own_address")
      state_.own_address = line.text(0);
    else if (word == "memory")
      state_.memory = line.bytes(0, 1'024);
    else if (word == "available")
      state_.available = line.bytes(0, 1'024);
    else if (word == "memlock")
      state_.memlock = line.text(0) == "unlimited" ? std::nullopt : std::optional(line.bytes(0, 1));
    else if (word == "disk")
      state_.disks.push_back({.place = line.text(0),
                              .size = line.bytes(2, line.number(1)),
                              .free = line.bytes(3, line.number(1)),
                              .files = line.number(4),
                              .free_files = line.number(5),
                              .writable = line.text(6) == "yes",
                              .device = line.text(7)});
    else
      return false;
    return true;
  }

  bool read_gpus(const FactLine& line) {
    const std::string_view word = line.word();
    if (word == "gpu_on_bus")
      ++state_.gpus_on_bus;
    else if (word == "nvswitch")
      ++state_.nvswitches;
    else if (word == "npu")
      ++state_.npus;
    else if (word == "cuda")
      state_.cuda.push_back(line.text(0));
    else if (word == "gpu")
      state_.gpus.push_back({.index = line.small(0),
                             .driver = line.text(1),
                             .memory = line.bytes(2, 1U << 20U),
                             .name = line.text(3)});
    else if (word == "gpu_failure")
      state_.gpu_failure = line.text(1).empty() ? "status " + line.text(0) : line.text(1);
    else if (word == "ecc")
      gpu(line).uncorrected = line.number(1);
    else if (word == "remapped") {
      gpu(line).remap_pending = line.text(1) == "Yes";
      gpu(line).remap_failed = line.text(2) == "Yes";
    } else if (word == "gpu_process")
      state_.gpu_processes.push_back(
          {.pid = line.small(0), .memory = line.bytes(1, 1U << 20U), .name = line.text(2)});
    else if (word == "fabric_manager") {
      state_.fabric_manager = line.text(0);
      state_.fabric_manager_version = line.text(1);
    } else if (word == "xid")
      state_.xids.push_back({.code = line.small(0), .device = line.text(1)});
    else
      return false;
    return true;
  }

  void read_rest(const FactLine& line) {
    const std::string_view word = line.word();
    if (word == "rdma") {
      const bool counts = !line.text(5).empty();
      state_.rdma.push_back({.device = line.text(0),
                             .port = line.text(1),
                             .state = state_word(line.text(2)),
                             .rate = line.text(3),
                             .link_layer = line.text(4),
                             .sent = counts ? line.number(5) : 0,
                             .counts_bytes = counts});
    } else if (word == "process") {
      state_.processes.push_back({.pid = line.small(0), .job = line.text(1), .name = line.text(2)});
    } else if (word == "job_runs") {
      state_.running_jobs.insert(line.text(0));
    } else if (word == "shared_memory") {
      ++state_.shared_files;
      state_.shared_bytes.count += line.number(1);
    }
  }

  CheckedGpu& gpu(const FactLine& line) {
    const auto found = std::ranges::find(state_.gpus, line.small(0), &CheckedGpu::index);
    if (found == state_.gpus.end()) line.refuse();
    return *found;
  }

  NodeHealth state_;
};

/// Takes the next complete line from `text`; absent at the end.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace

std::string_view check_script() noexcept {
  return kCheckScript;
}

NodeHealth parse_node_health(std::string_view text) {
  StateReader reader;
  bool has_begun = false;  // A login's greeting may come before.
  while (const auto line = take_line(text)) {
    if (!has_begun) {
      has_begun = *line == kFirstLine;
      continue;
    }
    if (*line == "end") return reader.take();
    reader.read(FactLine(*line));
  }
  throw Error(ErrorKind::remote,
              has_begun ? "the output of the check is cut off" : "the check has printed nothing");
}

std::optional<std::chrono::system_clock::time_point> node_time_in(std::string_view text) {
  while (const auto line = take_line(text))
    if (line->starts_with("time\t")) return time_of(FactLine(*line));
  return std::nullopt;
}

}  // namespace fastgpu::launcher
