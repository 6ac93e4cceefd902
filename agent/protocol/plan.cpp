#include "agent/protocol/plan.hpp"

#include <charconv>

#include "agent/protocol/records.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::agent {
namespace {

int parse_rank(const std::string& text) {
  int rank = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error == std::errc{} && end == text.data() + text.size() && rank >= 0) return rank;
  throw Error(ErrorKind::remote, "job plan: '" + printable(text) + "' is not a rank");
}

}  // namespace

std::string to_text(const Plan& plan) {
  Records records;
  records.add("id", plan.id);
  records.add("directory", plan.directory);
  records.add("lease", plan.lease.count());
  records.add("timeout", plan.timeout.count());
  records.add("port", plan.port_variable);
  for (const std::string& argument : plan.argv)
    records.add("arg", argument);
  for (const std::string& assignment : plan.environment)
    records.add("env", assignment);
  for (const int rank : plan.ranks)
    records.add("rank", rank);
  return records.text();
}

Plan parse_plan(std::string_view text) {
  const Records records(text, "job plan");
  Plan plan{.id = records.get("id"),
            .argv = records.all("arg"),
            .environment = records.all("env"),
            .directory = records.get("directory"),
            .lease = std::chrono::milliseconds(records.number("lease")),
            .timeout = std::chrono::milliseconds(records.number("timeout")),
            .port_variable = records.get("port"),
            .ranks = {}};
  for (const std::string& rank : records.all("rank"))
    plan.ranks.push_back(parse_rank(rank));
  if (plan.id.empty()) throw Error(ErrorKind::remote, "job plan: the id is empty");
  if (plan.argv.empty()) throw Error(ErrorKind::remote, "job plan: the command is empty");
  return plan;
}

}  // namespace fastgpu::agent
