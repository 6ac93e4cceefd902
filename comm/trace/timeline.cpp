#include "comm/trace/timeline.hpp"

#include <array>
#include <cstdio>
#include <ostream>

namespace fastgpu::comm {
namespace {

/// Returns microseconds with three decimals, the unit of the format.
std::string microseconds(std::chrono::nanoseconds time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(time.count()) / 1e3);
  return text.data();
}

}  // namespace

void Timeline::add(const Event& event) {
  const std::lock_guard lock(mutex_);
  if (events_.size() < most_)
    events_.push_back(event);
  else if (most_ > 0)
    events_[added_ % most_] = event;
  ++added_;
}

std::uint64_t Timeline::forgotten() const {
  const std::lock_guard lock(mutex_);
  return added_ - events_.size();
}

void Timeline::write(std::ostream& out, Rank rank, std::chrono::nanoseconds ahead) const {
  const std::lock_guard lock(mutex_);
  out << R"({"displayTimeUnit":"ms","traceEvents":[)"
      << R"({"name":"process_name","ph":"M","pid":)" << rank.value << R"(,"args":{"name":"rank )"
      << rank.value << R"("}})";
  const std::size_t oldest = events_.size() < most_ || most_ == 0 ? 0 : added_ % most_;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[(oldest + i) % events_.size()];
    out << ",\n{\"name\":\"" << json_escaped(event.name) << R"(","ph":"X","pid":)" << rank.value
        << R"(,"tid":)" << event.row << R"(,"ts":)"
        << microseconds(event.began.time_since_epoch() - ahead) << R"(,"dur":)"
        << microseconds(event.ended - event.began) << R"(,"args":{"step":)" << event.step
        << R"(,"number":)" << event.number;
    if (event.bytes > 0) out << R"(,"bytes":)" << event.bytes;
    out << "}}";
  }
  out << "]}\n";
}

std::string json_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      escaped += '\\';
      escaped += c;
    } else if (byte < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", unsigned{byte});
      escaped += code.data();
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace fastgpu::comm
