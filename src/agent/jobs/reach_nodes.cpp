// `reach-nodes`: checks whether this node can reach others of its cluster, before ranks wait for
// them.
#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <random>
#include <sstream>

#include "agent/connect.hpp"
#include "agent/files/disk.hpp"
#include "agent/large_packets.hpp"
#include "agent/options.hpp"
#include "agent/protocol/records.hpp"
#include "agent/subcommands.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kProbeTimeout = 5s;  // A lost first packet is sent again after 1 s and 3 s.

enum class Wanted : std::uint8_t {
  connection,  ///< A program must accept the connection.
  answer,      ///< A refusal is enough: it shows that packets arrive in both directions.
};

struct Probe {
  std::string target;  ///< The target as it was given.
  Wanted wanted = Wanted::answer;
  std::string address{};
  std::uint16_t port = 0;
  ConnectAttempt connection{.failure = EINPROGRESS};

  bool is_open() const noexcept { return connection.failure == EINPROGRESS; }
  bool is_good() const noexcept {
    return connection.failure == 0 ||
           (connection.failure == ECONNREFUSED && wanted == Wanted::answer);
  }
};

/// Returns a port from the range that the kernel uses for programs that ask for any port.
std::uint16_t any_port() {
  int first = 32'768, last = 60'999;
  std::istringstream range(read_file("/proc/sys/net/ipv4/ip_local_port_range").value_or(""));
  int low = 0, high = 0;
  if (range >> low >> high && low > 0 && low <= high && high <= 65'535) {
    first = low;
    last = high;
  }
  std::random_device random;
  return static_cast<std::uint16_t>(std::uniform_int_distribution<int>(first, last)(random));
}

/// Returns the addresses of a host; none if they cannot be found.
std::vector<std::string> addresses_to_try(const std::string& host) try {
  in6_addr ignored{};
  if (::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
      ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1)
    return {host};
  return addresses_of(host, kProbeTimeout);
} catch (const Error&) {
  return {};
}

void take_result(Probe& probe) {
  probe.connection.failure = result_of_connection(probe.connection.socket.get());
  probe.connection.socket = UniqueFd();
}

void await(std::vector<Probe>& probes) {
  const auto deadline = steady_clock::now() + kProbeTimeout;
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Probe*> open;
    for (Probe& probe : probes) {
      if (!probe.is_open()) continue;
      waiting.push_back({probe.connection.socket.get(), POLLOUT, 0});
      open.push_back(&probe);
    }
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (open.empty() || left <= 0ms) break;
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) < 0 &&
        errno != EINTR)
      break;
    for (std::size_t i = 0; i < open.size(); ++i)
      if (waiting[i].revents != 0) take_result(*open[i]);
  }
  for (Probe& probe : probes)
    if (probe.is_open()) probe.connection.failure = ETIMEDOUT;
}

/// Parses "host:port". An IPv6 address is in brackets.
Probe parse_listener(const std::string& target) {
  const std::size_t colon = target.rfind(':');
  Probe probe{.target = target, .wanted = Wanted::connection};
  if (colon != target.npos) {
    const auto digits = std::string_view(target).substr(colon + 1);
    probe.port = parse_number<std::uint16_t>(digits, "the port");
  }
  probe.address = target.substr(0, colon);
  if (probe.address.starts_with('[') && probe.address.ends_with(']'))
    probe.address = probe.address.substr(1, probe.address.size() - 2);
  return probe;
}

std::string why(const Probe& probe) {
  const std::string place = "TCP port " + std::to_string(probe.port) + ": ";
  if (probe.connection.failure == ETIMEDOUT) return place + "no answer within 5s";
  return place + std::strerror(probe.connection.failure);
}

/// Adds one probe for each address of a host. The host is unreachable only if all of them fail.
void add(Probe probe, std::vector<Probe>& probes, Records& answer) {
  const auto addresses = addresses_to_try(probe.address);
  if (addresses.empty()) answer.add("unreached", probe.target + " its name cannot be resolved");
  for (const std::string& address : addresses) {
    probes.push_back({.target = probe.target,
                      .wanted = probe.wanted,
                      .address = address,
                      .port = probe.port,
                      .connection = begin_connection(address, probe.port)});
  }
}

}  // namespace

int run_reach_nodes(Arguments arguments) {
  OptionReader options(arguments);
  Records answer;
  std::vector<Probe> probes;
  while (const auto target = options.take_value("--ssh"))
    add(parse_listener(*target), probes, answer);
  options.take_flag("--");
  const std::uint16_t port = any_port();
  std::vector<LargePacketTarget> targets;
  for (const std::string& word : options.take_rest()) {
    const std::size_t comma = std::min(word.find(','), word.size());
    const std::string address = word.substr(0, comma);
    add({.target = address, .address = address, .port = port}, probes, answer);
    if (comma < word.size())
      targets.push_back({address, parse_number<int>(word.substr(comma + 1), "the MTU")});
  }
  await(probes);
  std::erase_if(targets, [&](const LargePacketTarget& target) {
    return std::ranges::none_of(probes, [&](const Probe& probe) {
      return probe.target == target.address && probe.is_good();
    });
  });
  for (const LostPacket& lost : lost_large_packets(targets))
    answer.add("loses", lost.address + " " + std::to_string(lost.bytes));
  for (const Probe& probe : probes) {
    const auto is_same_and_good = [&](const Probe& other) {
      return other.target == probe.target && other.is_good();
    };
    if (std::ranges::any_of(probes, is_same_and_good)) continue;
    answer.add("unreached", probe.target + " " + why(probe));
  }
  write_all(STDOUT_FILENO, answer.text());
  return 0;
}

}  // namespace fastgpu::agent
