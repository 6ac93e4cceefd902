#include "launcher/engines/mpirun_words.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/join.hpp"
#include "base/names.hpp"
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

/// Returns the rest of the line after the first `text`.
std::optional<std::string_view> line_after(std::string_view words, std::string_view text) {
  const auto at = words.find(text);
  if (at == words.npos) return std::nullopt;
  words.remove_prefix(at + text.size());
  return trimmed(words.substr(0, words.find('\n')), " \t\r");
}

std::string_view first_word_after(std::string_view words, std::string_view text) {
  const auto found = split_words(line_after(words, text).value_or(""));
  return found.empty() ? "" : found.front();
}

/// Returns the rank in a name such as "[[45543,1],3]" or "[428736513,3]", whose second or first
/// part is the number of the job: that of the ranks which mpirun has started ends in 1, in 16 bits.
std::optional<int> rank_in_name(std::string_view name) {
  const bool has_family = name.starts_with("[[");
  name.remove_prefix(std::min(name.find_first_not_of('['), name.size()));
  if (has_family) name.remove_prefix(std::min(name.find(',') + 1, name.size()));
  const auto job = leading_number<std::uint32_t>(name);
  const auto comma = name.find(',');
  if (!job || (*job & 0xffffU) != 1 || comma == name.npos) return std::nullopt;
  return leading_number<int>(name.substr(comma + 1));
}

/// "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 7.", and of Open
/// MPI 5 the lines "Proc: [[59040,1],1]" and "Errorcode: 7". A rank of another communicator is not
/// that of the job.
MpiAbort called_abort(std::string_view words) {
  MpiAbort abort;
  auto code = number_after(words, "with errorcode ");
  if (!code) code = number_after(words, "Errorcode:");
  abort.code = code.value_or(0);
  if (const auto name = line_after(words, "Proc: "))
    abort.rank = rank_in_name(*name);
  else if (first_word_after(words, " in communicator ") == "MPI_COMM_WORLD")
    abort.rank = number_after(words, "invoked on rank ");
  abort.what = "called MPI_Abort with error code " + std::to_string(abort.code);
  return abort;
}

/// "*** An error occurred in MPI_Send", then "*** reported by process [428736513,1]", "*** on
/// communicator MPI_COMM_WORLD" and "*** MPI_ERR_RANK: invalid rank", each after "[host:pid] ".
MpiAbort fatal_error(std::string_view words) {
  MpiAbort abort;
  abort.what = std::string(line_after(words, "*** An error occurred in ").value_or("")) + " failed";
  if (const auto name = line_after(words, "*** reported by process "))
    abort.rank = rank_in_name(*name);
  const auto place = words.find("*** on ");
  if (place == words.npos) return abort;
  if (const auto error = line_after(words.substr(place + 1), "*** "))
    abort.what += ": " + std::string(*error);
  return abort;
}

bool is_ruler(std::string_view line) {
  return line.starts_with("-----");
}

/// Returns true for lines in which Open MPI reports its own failures, after those of the job.
bool is_noise(std::string_view line) {
  for (const std::string_view part : {"ORTE_ERROR_LOG", "PMIX ERROR", "PRTE ERROR", "btl_tcp"})
    if (line.find(part) != line.npos) return true;
  return is_forwarding_report(line);
}

/// Returns "orte_init failed: orte_plm_base_select failed: Returned value Not found (-13)" for the
/// words "It looks like orte_init failed for some reason; ...", whose last lines name the call and
/// its result: "  orte_plm_base_select failed", "  --> Returned value Not found (-13)". "" for
/// others.
std::string failed_start_in(std::string_view paragraph, std::span<const std::string_view> lines) {
  constexpr std::string_view kBefore = "It looks like ", kAfter = " failed for some reason";
  constexpr std::string_view kResult = "--> ";
  const auto end = paragraph.find(kAfter);
  if (!paragraph.starts_with(kBefore) || end == paragraph.npos) return "";
  const std::string what(paragraph.substr(kBefore.size(), end - kBefore.size()));
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string_view result = trimmed(lines[i], " \t\r");
    if (is_ruler(result)) break;
    if (!result.starts_with(kResult)) continue;
    return what + " failed: " + std::string(trimmed(lines[i - 1], " \t\r")) + ": " +
           std::string(trimmed(result.substr(kResult.size())));
  }
  return "";
}

/// Returns true for a line of Slurm's programs, each of which is a message of its own.
bool is_message_of_slurm(std::string_view line) {
  return line.starts_with("srun: ") || line.starts_with("slurmstepd");
}

/// Returns " KEY: VALUE, KEY: VALUE" if each of the lines up to the next empty one has that form:
/// Open MPI names the directory and the error of a failed call like that, below its sentence.
std::string details_in(std::span<const std::string_view> lines) {
  std::string details;
  for (const std::string_view line : lines) {
    const std::string_view text = trimmed(line, " \t\r");
    if (text.empty()) break;
    const auto colon = text.find(": ");
    if (colon == text.npos || is_ruler(text)) return "";
    append_item(details, std::string(text.substr(0, colon)) + ": " +
                             std::string(trimmed(text.substr(colon + 1))));
  }
  return details.empty() ? "" : " " + details;
}

}  // namespace

std::optional<MpiAbort> abort_named_by_mpirun(std::string_view words, int ranks) {
  const auto called = words.find("MPI_ABORT was invoked on rank ");
  const auto failed = words.find("*** An error occurred in ");
  if (called == words.npos && failed == words.npos) return std::nullopt;
  const auto first = std::min(called, failed);
  MpiAbort abort =
      first == called ? called_abort(words.substr(first)) : fatal_error(words.substr(first));
  if (abort.rank && (*abort.rank < 0 || *abort.rank >= ranks)) abort.rank.reset();
  return abort;
}

bool is_forwarding_report(std::string_view line) {
  line = trimmed(line, " \t\r");
  return line.find(": Forwarding signal ") != line.npos && line.ends_with(" to job");
}

std::string without_forwarding_reports(std::string_view words) {
  std::string kept;
  while (!words.empty()) {
    const std::string_view line = words.substr(0, words.find('\n'));
    const std::size_t size = std::min(line.size() + 1, words.size());
    if (!is_forwarding_report(line)) kept += words.substr(0, size);
    words.remove_prefix(size);
  }
  return kept;
}

std::string gist_of(std::string_view words) {
  constexpr std::size_t kLongest = 300;
  std::string paragraph, last;
  bool is_in_box = false;
  const std::vector<std::string_view> lines = split_lines(words);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view text = trimmed(lines[i], " \t\r");
    if (text.empty() || is_ruler(text)) {
      if (paragraph.ends_with(':')) paragraph += details_in(std::span(lines).subspan(i + 1));
      const auto failure = failed_start_in(paragraph, std::span(lines).subspan(i));
      if (!failure.empty()) paragraph = failure;
      if (is_in_box && !paragraph.empty()) break;
      if (!paragraph.empty()) last = std::exchange(paragraph, {});
      is_in_box = is_in_box || is_ruler(text);
      continue;
    }
    if (is_noise(text) && lines.size() > 1) continue;
    append_item(paragraph, text, is_message_of_slurm(text) ? "; " : " ");
  }
  std::string gist = printable(paragraph.empty() ? last : paragraph, kLongest);
  while (gist.ends_with(':'))
    gist.pop_back();
  return gist;
}

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

std::optional<LostDaemon> node_lost_by_launcher(std::string_view words) {
  constexpr std::size_t kLongestWhy = 200;
  for (const auto& [before, name] :  // The words of ORTE and PRTE, and those of our agent.
       {std::pair{"has lost communication with a remote daemon", " on node "},
        std::pair{"the connection to ", "the connection to "}}) {
    const auto at = words.find(before);
    if (at == words.npos) continue;
    std::string_view rest = words.substr(at);
    // ORTE names its own daemon first.
    if (const auto remote = rest.find("Remote daemon"); remote != rest.npos)
      rest.remove_prefix(remote);
    const auto node = word_after(rest, name);
    if (!node) continue;
    const auto why = line_after(rest.substr(0, rest.find('\n')), " has failed: ");
    return LostDaemon{.node = *node, .why = printable(why.value_or(""), kLongestWhy)};
  }
  return std::nullopt;
}

}  // namespace fastgpu::launcher
