#include "launcher/engines/mpirun_words.hpp"

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::launcher {
namespace {

/// Returns the number that follows the text.
std::optional<int> number_after(std::string_view words, std::string_view text) {
  const auto at = words.find(text);
  if (at == words.npos) return std::nullopt;
  words.remove_prefix(at + text.size());
  words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
  return leading_number<int>(words);
}

/// "mpirun noticed that process rank 2 with PID 7 on node a exited on signal 9 (Killed)."
std::optional<NamedRank> killed_rank(std::string_view words) {
  constexpr int kLastSignal = 64;
  const auto rank = number_after(words, "noticed that process rank ");
  const auto signal = number_after(words, "exited on signal ");
  if (!rank || !signal || *signal < 1 || *signal > kLastSignal) return std::nullopt;
  return NamedRank{.rank = *rank, .how = {.code = 0, .signal = *signal}};
}

/// "Process name: [[45543,1],3]", or "[prterun-host-7@1,3]" of Open MPI 5, and "Exit code: 7".
std::optional<NamedRank> exited_rank(std::string_view words) {
  const auto name = words.find("Process name: [");
  if (name == words.npos) return std::nullopt;
  const std::string_view place = words.substr(name, words.find('\n', name) - name);
  const auto comma = place.rfind(',');
  if (comma == place.npos) return std::nullopt;
  const auto rank = leading_number<int>(place.substr(comma + 1));
  const auto code = number_after(words.substr(name), "Exit code:");
  if (!rank || !code || *code <= 0 || *code > 255) return std::nullopt;
  return NamedRank{.rank = *rank, .how = {.code = *code}};
}

/// Returns the name or address of a node that follows the text.
std::optional<std::string> word_after(std::string_view words, std::string_view text) {
  constexpr std::size_t kLongest = 255;
  const auto at = words.find(text);
  if (at == words.npos) return std::nullopt;
  words.remove_prefix(at + text.size());
  const auto end = std::ranges::find_if_not(words, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-_.:").find(c) != std::string_view::npos;
  });
  std::string word(words.begin(), end);
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  return word;
}

}  // namespace

std::optional<NamedRank> rank_named_by_mpirun(std::string_view words, int ranks) {
  auto named = killed_rank(words);
  if (!named) named = exited_rank(words);
  if (!named || named->rank < 0 || named->rank >= ranks) return std::nullopt;
  return named;
}

std::optional<NamedRank> rank_of_ended_agent(std::string_view words, int ranks) {
  constexpr int kOfSignal = 128, kLastSignal = 64;
  constexpr std::string_view kBefore = "the agent of rank ";
  const auto at = words.find(kBefore);
  if (at == words.npos) return std::nullopt;
  words.remove_prefix(at);
  const auto rank = number_after(words, kBefore);
  const auto code = number_after(words, " has ended (");
  if (!rank || *rank < 0 || *rank >= ranks || !code || *code <= 0 || *code > 255)
    return std::nullopt;
  const bool is_killed = *code > kOfSignal && *code <= kOfSignal + kLastSignal;
  if (is_killed) return NamedRank{.rank = *rank, .how = {.code = 0, .signal = *code - kOfSignal}};
  return NamedRank{.rank = *rank, .how = {.code = *code}};
}

std::optional<int> unfinalized_rank(std::string_view words) {
  constexpr std::string_view kBefore = "has exited due to process rank ";
  const auto at = words.find(kBefore);
  if (at == words.npos || words.find("exiting improperly", at) == words.npos) return std::nullopt;
  return leading_number<int>(words.substr(at + kBefore.size()));
}

std::optional<std::string> words_before_missing_daemons(std::string_view words) {
  const auto at = words.find("unable to reliably start one or more daemons");
  if (at == words.npos) return std::nullopt;
  std::string last;
  for (const std::string_view line : split(words.substr(0, words.rfind('\n', at) + 1), '\n'))
    if (!line.empty() && !line.starts_with("---")) last = line;
  return last;
}

std::optional<std::string> node_lost_by_launcher(std::string_view words) {
  for (const auto& [before, name] :  // The words of ORTE and PRTE, and those of our agent.
       {std::pair{"has lost communication with a remote daemon", " on node "},
        std::pair{"the connection to ", "the connection to "}}) {
    const auto at = words.find(before);
    if (at == words.npos) continue;
    std::string_view rest = words.substr(at);
    // ORTE names its own daemon first.
    if (const auto remote = rest.find("Remote daemon"); remote != rest.npos)
      rest.remove_prefix(remote);
    if (auto node = word_after(rest, name)) return node;
  }
  return std::nullopt;
}

}  // namespace fastgpu::launcher
