#include "cli/workflows/cluster_checks.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

using launcher::Finding;
using launcher::Severity;
using Names = std::vector<std::string>;

Finding error_of(const std::string& check, Names nodes) {
  return {.check = check,
          .severity = Severity::error,
          .nodes = std::move(nodes),
          .found = "",
          .why = "",
          .remedy = ""};
}

TEST_SUITE_BEGIN("cli/workflows/cluster_checks");

TEST_CASE("an all-reduce that errors prevent is a finding that names nodes, checks and remedy") {
  const Names nodes{"demo-0", "demo-1", "demo-2", "demo-3"};
  Finding slow = error_of("bandwidth", {"demo-0"});
  slow.severity = Severity::warning;
  const std::vector<Finding> errors{error_of("ssh", {"demo-1"}), slow,
                                    error_of("connections", {"demo-1"})};
  const Finding finding = unmeasured_all_reduce("demo", nodes, errors);
  CHECK(finding.check == "all-reduce");
  CHECK(finding.severity == Severity::warning);
  CHECK(finding.nodes == Names{"demo-1"});
  CHECK(finding.found == "not measured, because of the errors of ssh, connections");
  CHECK(finding.remedy ==
        "end the errors, and repeat the check; the other nodes alone: fastgpu check net "
        "'demo/demo-[0,2-3]'");
}

TEST_CASE("the remedy of an all-reduce that errors prevent names no rest of fewer than two nodes") {
  const Names nodes{"demo-0", "demo-1"};
  const std::vector<Finding> lost{error_of("ssh", {"demo-1"})};
  CHECK(unmeasured_all_reduce("demo", nodes, lost).remedy ==
        "end the errors, and repeat the check");
  const Names more{"demo-0", "demo-1", "demo-2"};
  const std::vector<Finding> many{error_of("connections", {"demo-1"}), error_of("connections", {})};
  CHECK(unmeasured_all_reduce("demo", more, many).remedy == "end the errors, and repeat the check");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
