#include "envs/facts/probe.hpp"

#include <memory>
#include <optional>

#include "base/outcome.hpp"
#include "base/quote.hpp"

namespace fastgpu::envs {
namespace {

constexpr const char* kScript =
#include "probe.inc"
    ;
constexpr std::size_t kMostKept = (1 << 20) + 1;  // One more than parse_facts reads.

struct Answer {
  std::string out;
  std::string err;
  bool was_asked = false;
};

void keep(std::string& text, std::string_view piece) {
  text += piece.substr(0, kMostKept - text.size());
}

ssh::Task task_for(const ssh::Host& host, const std::string& command, Answer& answer) {
  return {.host = host,
          .command = command,
          .on_stdout = [&answer](std::string_view piece) { keep(answer.out, piece); },
          .on_stderr = [&answer](std::string_view piece) { keep(answer.err, piece); },
          .next_input = [&answer]() -> std::optional<std::string> {
            if (std::exchange(answer.was_asked, true)) return std::nullopt;
            return kScript;
          }};
}

NodeFacts facts_in(const HostResult<ssh::Exit>& ended, const Answer& answer) {
  if (ended.value().code() != 0)
    throw Error(ErrorKind::remote, "checking the node ended with exit status " +
                                       std::to_string(ended.value().code()) + ": " +
                                       printable(answer.err, 200));
  return parse_facts(answer.out);
}

}  // namespace

std::string_view probe_script() noexcept {
  return kScript;
}

std::vector<HostResult<NodeFacts>> probe(ssh::Client& client, std::span<const ssh::Host> hosts,
                                         const std::vector<std::string>& packages,
                                         const ssh::RunOptions& options, const Cancel& cancel) {
  std::vector<std::string> words = {"exec", "sh", "-s", "--"};
  words.insert(words.end(), packages.begin(), packages.end());
  const std::string command = shell_join(words);
  std::vector<Answer> answers(hosts.size());
  std::vector<ssh::Task> tasks;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    tasks.push_back(task_for(hosts[i], command, answers[i]));
  const auto ended = client.run(std::move(tasks), options, cancel);
  std::vector<HostResult<NodeFacts>> results;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    results.push_back({ended[i].host, attempt([&] { return facts_in(ended[i], answers[i]); })});
  return results;
}

}  // namespace fastgpu::envs
