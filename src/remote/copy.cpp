#include "remote/copy.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/chosen_place.hpp"
#include "base/utf8.hpp"
#include "remote/agent_call.hpp"
#include "remote/kept_copy.hpp"
#include "remote/local_failure.hpp"
#include "transfer/failure_status.hpp"
#include "transfer/pace.hpp"
#include "transfer/tree_receiver.hpp"
#include "transfer/tree_sender.hpp"

namespace fastgpu::remote {
namespace {

using transfer::SourceCount;

/// Collects the message of the remote side before a failure, up to a limit.
void keep_message(std::string& said, std::string_view piece) {
  constexpr std::size_t kLongest = 4096;
  said += piece.substr(0, kLongest - std::min(said.size(), kLongest));
}

/// Returns the error for a failed copy. `said` may have names of files, which may have line ends.
Error far_error(const NodeName& host, const ssh::Exit& exit, std::string said) {
  while (said.ends_with('\n'))
    said.pop_back();
  said = escaped(said, Layout::one_line);
  const auto kind = exit.signal.empty() ? transfer::failure_kind(exit.status) : std::nullopt;
  if (kind) return named_failure(*kind, host, said);
  return {ErrorKind::remote, host.value + ": copying ended with " + std::to_string(exit.code()) +
                                 (said.empty() ? "" : ": " + said)};
}

HostResult<Copied> outcome(const NodeName& host, const CallResult& called, const std::string& said,
                           std::uint64_t bytes) {
  if (!called.exit.ok()) return {host, called.exit.error()};
  const ssh::Exit& exit = called.exit.value();
  if (exit.code() == 0) return {host, Copied{bytes}};
  if (exit.code() != transfer::kSomeNotSent) return {host, far_error(host, exit, said)};
  return {host, Copied{.bytes = bytes, .not_sent = transfer::parse_not_sent(said)}};
}

std::filesystem::path place_for(const std::filesystem::path& destination, const NodeName& host) {
  const std::filesystem::path place = destination / host.value;
  std::error_code failure;
  std::filesystem::create_directories(place, failure);
  if (failure) throw system_error("making the directory " + place.string(), failure.value());
  return place;
}

ChosenPlace chosen_destination(const std::filesystem::path& destination) {
  return {.name = "the destination", .path = destination, .choice = "choose another one"};
}

/// Checks whether a copy can be assembled at the destination, before any host is contacted.
void check_destination(const std::filesystem::path& destination, SourceCount count,
                       std::size_t hosts) {
  at_place(chosen_destination(destination), [&] {
    if (hosts == 1) return transfer::try_receiving(destination, {.count = count});
    std::error_code failure;
    std::filesystem::create_directories(destination, failure);
    if (failure)
      throw system_error("making the directory " + destination.string(), failure.value());
    const transfer::Staging trial{destination};
  });
}

/// Makes the same check without creating directories.
void check_destination_only(const std::filesystem::path& destination, SourceCount count,
                            std::size_t hosts) {
  const ChosenPlace place = chosen_destination(destination);
  if (hosts > 1) return require_writable_directory(place);
  at_place(place, [&] { transfer::try_receiving(destination, {.count = count}); });
}

/// Runs a trial copy by the agent on every host.
std::vector<HostResult<Copied>> try_on(ssh::Client& client, std::span<const ssh::Host> hosts,
                                       const std::vector<std::string>& words,
                                       const AgentProgram& agent, const CopyOptions& options,
                                       const Cancel& cancel) {
  const std::string command = agent_command(agent.hash, words);
  std::vector<std::string> said(hosts.size());
  const auto make = [&](std::size_t host) -> ssh::Task {
    return {.host = hosts[host], .command = command, .on_stderr = [&text = said[host]](auto piece) {
              keep_message(text, piece);
            }};
  };
  const auto called = call_agent(client, hosts, agent, make, run_options(options), cancel);
  std::vector<HostResult<Copied>> results;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    results.push_back(outcome(hosts[i].name, called[i], said[i], 0));
  return results;
}

/// The state of one host in copy_from().
struct Incoming {
  std::unique_ptr<transfer::TreeReceiver> receiver;
  std::string said;
};

}  // namespace

std::string key_of(const std::vector<std::filesystem::path>& sources,
                   const std::string& destination) {
  return transfer::key_of(sources, destination);
}

std::vector<HostResult<Copied>> copy_to(ssh::Client& client, std::span<const ssh::Host> hosts,
                                        const std::vector<std::filesystem::path>& sources,
                                        const std::string& destination, const AgentProgram& agent,
                                        const CopyOptions& options, CopyProgress* progress,
                                        const Cancel& cancel) {
  check_readable(sources, options.left_out);
  LocalFailure local;
  const auto kept = kept_positions(client, hosts, options.key, destination, agent, options, cancel);
  const auto command_for = [&](std::size_t host) {
    std::vector<std::string> words = {"receive"};
    if (sources.size() > 1) words.emplace_back("--several");
    std::ranges::copy(resume_words(options.key, kept[host]), std::back_inserter(words));
    words.insert(words.end(), {"--", destination});
    return agent_command(agent.hash, words);
  };
  const auto sums = std::make_shared<transfer::FileSums>();  // Files are hashed once for all hosts.
  std::vector<std::unique_ptr<transfer::TreeSender>> senders(hosts.size());
  std::vector<std::string> said(hosts.size());
  transfer::Pace pace(options.rate);

  const auto make = [&](std::size_t host) -> ssh::Task {
    senders[host] = std::make_unique<transfer::TreeSender>(sources, sums, kept[host]);
    senders[host]->leave_out(options.left_out);
    return {.host = hosts[host],
            .command = command_for(host),
            .on_stderr = [&text = said[host]](auto piece) { keep_message(text, piece); },
            .next_input =
                [sender = senders[host].get(), host, progress, &pace, &cancel, &local] {
                  auto piece = local.noting([&] { return sender->next(); });
                  if (piece) pace.pass(piece->size(), cancel);
                  if (progress != nullptr) progress->moved(host, sender->sent().bytes);
                  return piece;
                }};
  };
  const auto called = call_agent(client, hosts, agent, make, run_options(options), cancel);
  local.check();
  std::vector<HostResult<Copied>> results;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    results.push_back(outcome(hosts[i].name, called[i], said[i], senders[i]->sent().bytes));
    if (results.back().ok())
      results.back().outcome = Copied{senders[i]->sent().bytes, senders[i]->not_sent()};
  }
  return results;
}

std::vector<HostResult<Copied>> try_copy_to(ssh::Client& client, std::span<const ssh::Host> hosts,
                                            const std::vector<std::filesystem::path>& sources,
                                            const std::string& destination,
                                            const AgentProgram& agent, const CopyOptions& options,
                                            const Cancel& cancel) {
  check_readable(sources);
  std::vector<std::string> words = {"receive"};
  if (sources.size() > 1) words.emplace_back("--several");
  words.insert(words.end(), {"--try", std::to_string(content_of(sources))});
  if (!std::filesystem::is_directory(sources.front())) words.emplace_back("--file");
  words.insert(words.end(), {"--", destination});
  return try_on(client, hosts, words, agent, options, cancel);
}

std::vector<HostResult<Copied>> try_copy_from(ssh::Client& client, std::span<const ssh::Host> hosts,
                                              const std::vector<std::string>& sources,
                                              const std::filesystem::path& destination,
                                              const AgentProgram& agent, const CopyOptions& options,
                                              const Cancel& cancel) {
  check_destination_only(destination, sources.size() > 1 ? SourceCount::several : SourceCount::one,
                         hosts.size());
  std::vector<std::string> words = {"send", "--try", "--"};
  words.insert(words.end(), sources.begin(), sources.end());
  return try_on(client, hosts, words, agent, options, cancel);
}

std::vector<HostResult<Copied>> copy_from(ssh::Client& client, std::span<const ssh::Host> hosts,
                                          const std::vector<std::string>& sources,
                                          const std::filesystem::path& destination,
                                          const AgentProgram& agent, const CopyOptions& options,
                                          CopyProgress* progress, const Cancel& cancel) {
  std::vector<std::string> words = {"send", "--"};
  words.insert(words.end(), sources.begin(), sources.end());
  const std::string command = agent_command(agent.hash, words);
  const auto count = sources.size() > 1 ? SourceCount::several : SourceCount::one;
  check_destination(destination, count, hosts.size());
  std::vector<Incoming> incoming(hosts.size());
  transfer::Pace pace(options.rate);

  const auto receive = [&](std::size_t host, std::string_view piece) {
    auto& receiver = incoming[host].receiver;
    if (!receiver) {
      receiver = std::make_unique<transfer::TreeReceiver>(
          hosts.size() > 1 ? place_for(destination, hosts[host].name) : destination, count);
      receiver->expect({sources, hosts[host].user});
    }
    receiver->feed(piece);
    pace.pass(piece.size(), cancel);
    if (progress != nullptr) progress->moved(host, receiver->bytes());
  };
  const auto make = [&](std::size_t host) -> ssh::Task {
    return {.host = hosts[host],
            .command = command,
            .on_stdout =
                [&receive, &hosts, host](auto piece) {
                  try {
                    receive(host, piece);
                  } catch (const Error& e) {  // Such as a full disk here.
                    if (e.kind() == ErrorKind::interrupted) throw;
                    throw e.during(hosts[host].name.value);
                  }
                },
            .on_stderr = [&text = incoming[host].said](auto piece) { keep_message(text, piece); },
            .most_output = ssh::kEndless};
  };
  const auto called = call_agent(client, hosts, agent, make, run_options(options), cancel);
  std::vector<HostResult<Copied>> results;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    auto& [receiver, said] = incoming[i];
    results.push_back(outcome(hosts[i].name, called[i], said, receiver ? receiver->bytes() : 0));
    if (!results.back().ok()) continue;
    try {
      if (!receiver) receive(i, "");
      receiver->finish();
    } catch (const Error& e) {
      results.back().outcome = e.during(hosts[i].name.value);
    }
  }
  return results;
}

}  // namespace fastgpu::remote
