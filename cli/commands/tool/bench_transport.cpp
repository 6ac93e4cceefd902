#include "cli/commands/tool/bench_transport.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "process/command.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::string_view kTransport = "FASTGPU_COMM_TRANSPORT";
constexpr std::string_view kInterface = "FASTGPU_COMM_INTERFACE";
constexpr std::string_view kRequire = "FASTGPU_COMM_REQUIRE";

std::string all_transports() {
  std::string all;
  for (const BenchTransport known : kBenchTransports)
    all += (all.empty() ? "" : ", ") + std::string(name_of(known));
  return all;
}

BenchTransport parse_transport(std::string_view word) {
  for (const BenchTransport known : kBenchTransports)
    if (name_of(known) == word) return known;
  throw Error(ErrorKind::usage,
              "--transport '" + printable(word) + "' is none of " + all_transports());
}

/// Returns whether the user lists several interfaces.
bool has_several_interfaces(const std::vector<std::string>& environment) {
  return process::variable(environment, kInterface).value_or("").find(',') != std::string::npos;
}

/// Throws if the user's variables choose a transport, which --transport does.
void check_free(BenchTransport transport, const std::vector<std::string>& environment) {
  for (const std::string_view name : {kTransport, kRequire})
    if (process::variable(environment, name))
      throw Error(ErrorKind::usage,
                  "--transport sets " + std::string(name) + ": omit -e " + std::string(name));
  if (uses_fabric(transport, environment) &&
      process::variable(environment, "FASTGPU_COMM_FABRIC") == "off")
    throw Error(ErrorKind::usage,
                "--transport " + std::string(name_of(transport)) + " needs a fabric" +
                    (transport == BenchTransport::hybrid ? ", or several interfaces "
                                                           "[-e FASTGPU_COMM_INTERFACE=eth0,eth1]"
                                                         : "") +
                    ": omit -e FASTGPU_COMM_FABRIC=off");
}

}  // namespace

std::string_view name_of(BenchTransport transport) noexcept {
  switch (transport) {
    case BenchTransport::fabric:
      return "fabric";
    case BenchTransport::tcp:
      return "tcp";
    case BenchTransport::hybrid:
      return "hybrid";
  }
  return "tcp";
}

std::vector<BenchTransport> parse_transports(std::string_view text) {
  std::vector<BenchTransport> transports;
  if (text.empty()) return transports;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    const BenchTransport one = parse_transport(text.substr(from, end - from));
    if (std::ranges::find(transports, one) != transports.end())
      throw Error(ErrorKind::usage, "--transport has '" + std::string(name_of(one)) + "' twice");
    transports.push_back(one);
    from = end + 1;
  }
  return transports;
}

bool uses_fabric(BenchTransport transport, const std::vector<std::string>& environment) {
  return transport == BenchTransport::fabric ||
         (transport == BenchTransport::hybrid && !has_several_interfaces(environment));
}

std::vector<std::string> variables_for(BenchTransport transport,
                                       const std::vector<std::string>& environment) {
  check_free(transport, environment);
  std::vector<std::string> variables = environment;
  const auto set = [&](std::string_view name, std::string_view value) {
    process::set_variable(variables, std::string(name) + "=" + std::string(value));
  };
  switch (transport) {
    case BenchTransport::fabric:
      // Providers in software are taken only if the user names one.
      set(kTransport, "auto");
      set(kRequire, "fabric");
      break;
    case BenchTransport::tcp:
      set(kTransport, "tcp");
      if (has_several_interfaces(environment)) {
        const std::string all = process::variable(environment, kInterface).value_or("");
        set(kInterface, all.substr(0, all.find(',')));
      }
      break;
    case BenchTransport::hybrid:
      // The networks are the interfaces that the user lists, or else a fabric and TCP.
      set(kTransport, uses_fabric(transport, environment) ? "hybrid" : "tcp");
      if (uses_fabric(transport, environment)) set(kRequire, "fabric");
      break;
  }
  return variables;
}

std::string lack_of_fabric(BenchTransport transport, std::string_view reason,
                           std::string_view own_wish) {
  std::string sentence = "--transport " + std::string(name_of(transport)) + " needs a fabric";
  if (reason.starts_with(own_wish))
    sentence += reason.substr(own_wish.size());
  else
    sentence += ": " + std::string(reason);
  sentence += "; name a fabric in software [-e FASTGPU_COMM_FABRIC=net]";
  if (transport == BenchTransport::hybrid)
    sentence += ", or several interfaces of TCP [-e FASTGPU_COMM_INTERFACE=eth0,eth1]";
  return sentence;
}

}  // namespace fastgpu::cli
