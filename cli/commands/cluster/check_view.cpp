#include "cli/commands/cluster/check_view.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "base/join.hpp"
#include "cli/workflows/name_folding.hpp"

namespace fastgpu::cli {
namespace {

using launcher::CheckedNode;
using launcher::Finding;
using launcher::Severity;

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json json_of(const CheckedNode& node) {
  Json out;
  out["name"] = node.name.value;
  out["error"] = nullptr;
  if (!node.state.ok()) {
    out["error"] = node.state.error().what();
    return out;
  }
  if (!node.facts.ok()) out["error"] = node.facts.error().what();
  const launcher::NodeHealth& state = node.state.value();
  out["host"] = state.host;
  out["kernel"] = state.kernel;
  out["open_mpi"] = text_or_null(node.facts.ok() ? node.facts.value().mpirun_version : "");
  out["driver"] = text_or_null(state.gpus.empty() ? "" : state.gpus.front().driver);
  out["cuda"] = state.cuda;
  out["gpus"] = std::max<std::size_t>(state.gpus.size(), static_cast<std::size_t>(state.npus));
  out["rdma_ports"] = state.rdma.size();
  out["memory_bytes"] = state.memory.count;
  out["clock_ahead_ms"] = node.clock_ahead.count();
  return out;
}

}  // namespace

Table table_of_findings(const std::vector<Finding>& findings) {
  Table table;
  table.columns = {{"RESULT"},
                   {"CHECK"},
                   {"NODES"},
                   {"FOUND", false, Fit::prose},
                   {"REMEDY", false, Fit::prose}};
  for (const Finding& finding : findings)
    table.rows.push_back({Cell(std::string(word_of(finding.severity)),
                               finding.severity == Severity::error ? Color::red : Color::yellow),
                          finding.check, finding.nodes.empty() ? "-" : fold_names(finding.nodes),
                          finding.found + " (" + finding.why + ")", finding.remedy});
  return table;
}

Json json_of_findings(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& finding : findings)
    out.push_back({{"check", finding.check},
                   {"severity", word_of(finding.severity)},
                   {"nodes", finding.nodes},
                   {"found", finding.found},
                   {"why", finding.why},
                   {"remedy", finding.remedy}});
  return out;
}

std::string line_of(const Finding& finding) {
  return (finding.nodes.empty() ? "" : fold_names(finding.nodes) + ": ") + finding.check + ": " +
         finding.found + " (" + finding.why + "): " + finding.remedy;
}

std::string counts_of(const std::vector<Finding>& findings) {
  const auto errors = std::ranges::count(findings, Severity::error, &Finding::severity);
  const auto warnings = std::ranges::count(findings, Severity::warning, &Finding::severity);
  std::vector<std::string> parts;
  if (errors > 0) parts.push_back(counted(errors, "error"));
  if (warnings > 0) parts.push_back(counted(warnings, "warning"));
  return parts.empty() ? "no findings" : joined(parts);
}

View view_of(const CheckReport& report) {
  View view;
  view.root = document("check-cluster");
  view.root["cluster"] = report.cluster;
  view.root["result"] = worst_of(report.findings);
  view.root["checks"] = Json::array();
  for (const CheckLine& line : report.checks)
    view.root["checks"].push_back({{"name", line.name},
                                   {"result", line.result},
                                   {"skipped_for", text_or_null(line.skipped_for)}});
  view.root["findings"] = json_of_findings(report.findings);
  view.root["nodes"] = Json::array();
  for (const CheckedNode& node : report.nodes)
    view.root["nodes"].push_back(json_of(node));
  view.table = table_of_findings(report.findings);
  for (const Finding& finding : report.findings)
    view.names.push_back(finding.check);
  return view;
}

}  // namespace fastgpu::cli
