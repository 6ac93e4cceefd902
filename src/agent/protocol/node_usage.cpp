#include "agent/protocol/node_usage.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::agent {
namespace {

Error senseless(const std::string& line) {
  return {ErrorKind::remote, "its counters make no sense: '" + printable(line) + "'"};
}

struct Interfaces {
  bool has_device = false;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;

  /// Adds an interface. Traffic of virtual ones goes through devices, where there are any.
  void add(bool is_device, std::uint64_t in, std::uint64_t out) {
    if (is_device && !has_device) *this = {.has_device = true};
    if (is_device != has_device) return;
    received += in;
    sent += out;
  }
};

/// Reads the times of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
bool read_ticks(std::istream& words, UsageCounters& counters) {
  constexpr std::size_t kIdle = 3, kWaiting = 4, kSteal = 7;
  std::uint64_t ticks = 0;
  std::size_t field = 0;
  // Later fields, of guests, are in the first ones already.
  for (; field <= kSteal && words >> ticks; ++field) {
    counters.all_ticks += ticks;
    if (field != kIdle && field != kWaiting) counters.busy_ticks += ticks;
  }
  return field > kIdle;
}

bool read_memory(std::istream& words, UsageCounters& counters) {
  std::uint64_t all = 0, available = 0;
  if (!(words >> all >> available) || available > all) return false;
  counters.memory = {all << 10U};
  counters.memory_available = {available << 10U};
  return true;
}

/// Reads a GPU. Of what it cannot say it prints words, such as "[N/A]".
bool read_gpu(std::istream& words, UsageCounters& counters) {
  GpuUsage gpu;
  std::string percent;
  if (!(words >> gpu.index >> percent)) return false;
  int number = 0;
  if (std::istringstream(percent) >> number) gpu.percent = number;
  std::uint64_t used_mib = 0, all_mib = 0;
  if (words >> used_mib >> all_mib) {
    gpu.memory_used = {used_mib << 20U};
    gpu.memory = {all_mib << 20U};
  }
  counters.gpus.push_back(gpu);
  return true;
}

bool read_line(const std::string& line, UsageCounters& counters, Interfaces& interfaces) {
  std::istringstream words(line);
  std::string name, kind;
  words >> name;
  if (name == "uptime") return static_cast<bool>(words >> counters.uptime);
  if (name == "cpu") return read_ticks(words, counters);
  if (name == "memory") return read_memory(words, counters);
  if (name == "gpu") return read_gpu(words, counters);
  if (name == "gpu_tool_silent") return counters.is_gpu_tool_silent = true;
  std::uint64_t in = 0, out = 0;
  if (name != "net" || !(words >> kind >> in >> out)) return false;
  interfaces.add(kind == "device", in, out);
  return true;
}

std::uint64_t grown(std::uint64_t before, std::uint64_t after) {
  return after >= before ? after - before : after;
}

}  // namespace

UsageCounters parse_usage(std::string_view text) {
  UsageCounters counters;
  Interfaces interfaces;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);)
    if (!read_line(line, counters, interfaces)) throw senseless(line);
  if (counters.all_ticks == 0 || counters.memory == Bytes{}) throw senseless(std::string(text));
  counters.received = {interfaces.received};
  counters.sent = {interfaces.sent};
  return counters;
}

NodeUsage usage_between(const UsageCounters& before, const UsageCounters& after) {
  const bool is_restarted = after.uptime < before.uptime;
  const UsageCounters start = is_restarted ? UsageCounters{} : before;
  const double seconds = after.uptime - start.uptime;
  const auto rate = [seconds](Bytes from, Bytes to) {
    const double bytes = static_cast<double>(grown(from.count, to.count));
    return Bytes{seconds > 0 ? static_cast<std::uint64_t>(bytes / seconds) : 0};
  };
  const std::uint64_t ticks = grown(start.all_ticks, after.all_ticks);
  const auto busy = static_cast<double>(grown(start.busy_ticks, after.busy_ticks));
  return {.busy = ticks > 0 ? std::min(1.0, busy / static_cast<double>(ticks)) : 0,
          .memory_used = {after.memory.count - after.memory_available.count},
          .memory = after.memory,
          .received_each_second = rate(start.received, after.received),
          .sent_each_second = rate(start.sent, after.sent),
          .gpus = after.gpus,
          .is_gpu_tool_silent = after.is_gpu_tool_silent};
}

}  // namespace fastgpu::agent
