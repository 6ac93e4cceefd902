#include "launcher/node_usage.hpp"

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/outcome.hpp"
#include "launcher/fan_out.hpp"

namespace fastgpu::launcher {
namespace {

constexpr const char* kReadUsage =
#include "templates/nodes/read_usage.inc"
    ;

constexpr std::size_t kMostUsageText = 64U << 10;

/// Returns the counters in an answer. Throws the error of its connection as it is, which names the
/// node, or ErrorKind::remote.
UsageCounters counters_in(const NodeAnswer& answer) {
  if (!answer.result.ok()) throw Error(answer.result.error());
  if (answer.result.value().code() != 0)
    throw Error(ErrorKind::remote, "its counters cannot be read: " +
                                       printable(answer.err.substr(0, answer.err.find('\n'))));
  return parse_usage(answer.out);
}

}  // namespace

std::vector<HostResult<UsageCounters>> read_usage(ssh::Client& client,
                                                  std::span<const ssh::Host> hosts,
                                                  std::chrono::milliseconds timeout,
                                                  const Cancel& cancel) {
  std::vector<NodeTask> tasks;
  for (const ssh::Host& host : hosts)
    tasks.push_back({.host = host, .command = kReadUsage, .most_output = kMostUsageText});
  std::vector<HostResult<UsageCounters>> found;
  for (const NodeAnswer& answer : ask(client, tasks, timeout, cancel))
    found.push_back({answer.result.host, attempt([&] { return counters_in(answer); })});
  return found;
}

}  // namespace fastgpu::launcher
