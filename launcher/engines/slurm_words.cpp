#include "launcher/engines/slurm_words.hpp"

#include <algorithm>

#include "base/names.hpp"
#include "base/split.hpp"

namespace fastgpu::launcher {
namespace {

constexpr std::size_t kLongestWhy = 200;

/// Returns the rest of the line after the first `text`; absent if the line lacks it.
std::optional<std::string_view> after(std::string_view line, std::string_view text) {
  const auto at = line.find(text);
  if (at == line.npos) return std::nullopt;
  return line.substr(at + text.size());
}

/// Returns the name of a node at the begin of the text.
std::string node_at(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-_.").find(c) != std::string_view::npos;
  });
  return {text.begin(), end};
}

/// Returns the node that a line of slurmstepd names as its own: "slurmstepd-n1: error: ...".
std::string node_of_step(std::string_view line) {
  return node_at(after(line, "slurmstepd-").value_or(""));
}

/// "srun: error: Task launch for StepId=2.0 failed on node n1: Job prolog failed"
std::optional<SlurmFault> failed_launch(std::string_view line) {
  constexpr std::string_view kOn = " failed on node ";
  const auto launch = after(line, "Task launch for ");
  const auto place = launch ? after(*launch, kOn) : std::nullopt;
  if (!place) return std::nullopt;
  SlurmFault fault{.node = node_at(*place)};
  fault.why = printable(trimmed(after(*place, ": ").value_or("")), kLongestWhy);
  if (fault.why == "Job prolog failed") fault = {SlurmFaultKind::prolog, fault.node, ""};
  return fault;
}

std::optional<SlurmFault> fault_in(std::string_view line) {
  if (auto fault = failed_launch(line)) return fault;
  if (const auto place = after(line, "Prolog failure on node "))
    return SlurmFault{.kind = SlurmFaultKind::prolog, .node = node_at(*place)};
  if (line.starts_with("Error running slurm prolog: "))
    return SlurmFault{.kind = SlurmFaultKind::prolog};
  if (const auto why = after(line, "error: TaskProlog failed "))
    return SlurmFault{.kind = SlurmFaultKind::task_prolog,
                      .node = node_of_step(line),
                      .why = printable(trimmed(*why), kLongestWhy)};
  if (const auto place = after(line, "srun: error: Node failure on "))
    return SlurmFault{.kind = SlurmFaultKind::node, .node = node_at(*place)};
  return std::nullopt;
}

}  // namespace

std::optional<SlurmFault> fault_named_by_slurm(std::string_view words) {
  for (const std::string_view line : split_lines(words))
    if (auto fault = fault_in(line)) return fault;
  return std::nullopt;
}

std::optional<SlurmFault> fault_of_nodes(std::string_view lines, std::string_view started) {
  for (const std::string_view line : split_lines(lines)) {
    const auto name = after(line, "NodeName=");
    const auto reason = after(line, " Reason=");
    if (!name || !reason || reason->find("rolog") == reason->npos) continue;
    const std::string_view time = after(*reason, "@").value_or("");
    if (started.empty() || time.substr(0, started.size()) < started) continue;
    return SlurmFault{.kind = SlurmFaultKind::prolog, .node = node_at(*name)};
  }
  return std::nullopt;
}

}  // namespace fastgpu::launcher
