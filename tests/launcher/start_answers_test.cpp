#include "launcher/start_answers.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "agent/protocol/exit_codes.hpp"
#include "base/error.hpp"

namespace fastgpu::launcher {
namespace {

NodeAnswer answer(const std::string& node, int status, std::string err = {}) {
  return {.result = {{node}, ssh::Exit{.status = status}}, .err = std::move(err)};
}

NodeAnswer failure(const std::string& node, ErrorKind kind) {
  return {.result = {{node}, Error(kind, node + ": no answer")}};
}

TEST_SUITE_BEGIN("launcher/start_answers");

TEST_CASE("ranks that cannot begin end the job with their own exit code and the first line") {
  const std::vector<NodeAnswer> answers = {
      failure("n-0", ErrorKind::transient), answer("n-1", 1, "another failure\n"),
      answer("n-2", agent::kNotThere, "/no/such: it is missing\nmore\n")};
  const auto outcome = never_begun(answers);
  REQUIRE(outcome);
  CHECK(outcome->state == state::JobState::failed);
  CHECK(outcome->exit_code == agent::kNotThere);
  CHECK(outcome->reason == "n-2: /no/such: it is missing");
  CHECK_FALSE(never_begun(std::vector{answer("n-0", 0), answer("n-1", 1)}));
}

TEST_CASE("nodes are told apart by their answers to the first files") {
  const std::vector<NodeAnswer> answers = {answer("n-0", 0), failure("n-1", ErrorKind::transient),
                                           failure("n-2", ErrorKind::denied),
                                           answer("n-3", agent::kIdTaken), answer("n-4", 1)};
  CHECK(prepared_nodes(answers) == std::vector<NodeName>{{"n-0"}});
  CHECK(silent_nodes(answers) == std::vector<NodeName>{{"n-1"}});
  CHECK(node_with_same_id(answers) == NodeName{"n-3"});
  CHECK_FALSE(node_with_same_id(std::vector{answer("n-0", 0)}));
  CHECK_FALSE(share_home(answers));
  CHECK(share_home(std::vector{answer("n-0", 0), answer("n-1", agent::kHomeShared)}));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
