#include "launcher/log_nodes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using Names = std::vector<std::string>;

/// Three nodes with two ranks each.
const std::vector<NodeRanks> kPlacement = {{{"n-0"}, 0, 2}, {{"n-1"}, 2, 2}, {{"n-2"}, 4, 2}};

Names read_for(const LogRequest& request) {
  Names names;
  for (const NodeRanks& ranks : nodes_with_logs("job-1", kPlacement, request))
    names.push_back(ranks.node.value);
  return names;
}

TEST_SUITE_BEGIN("launcher/log_nodes");

TEST_CASE("all nodes are read, but for those that are left out") {
  CHECK(read_for({}) == Names{"n-0", "n-1", "n-2"});
  CHECK(read_for({.left_out = {{"n-1"}}}) == Names{"n-0", "n-2"});
}

TEST_CASE("one rank is read on its node, and followed to the end that the first node knows") {
  CHECK(read_for({.rank = 3}) == Names{"n-1"});
  CHECK(read_for({.rank = 3, .mode = LogMode::follow}) == Names{"n-0", "n-1"});
  CHECK(read_for({.rank = 0, .mode = LogMode::follow}) == Names{"n-0"});
}

TEST_CASE("a rank that the job does not have is refused") {
  CHECK(test::failure_of([] { read_for({.rank = 6}); }).kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
