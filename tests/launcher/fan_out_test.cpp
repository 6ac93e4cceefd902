#include "launcher/fan_out.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "agent/protocol/exit_codes.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;

NodeAnswer ended_with(int code) {
  return {.result = {{"n-1"}, ssh::Exit{.status = code}}, .err = "it said why\nand more\n"};
}

TEST_SUITE_BEGIN("launcher/fan_out");

TEST_CASE("the exit code of a node's answer is the kind of its error") {
  struct Case {
    int code;
    ErrorKind kind;
  };
  for (const Case& one : {Case{1, ErrorKind::remote}, Case{2, ErrorKind::remote},
                          Case{4, ErrorKind::capacity}, Case{126, ErrorKind::denied},
                          Case{127, ErrorKind::not_found}, Case{137, ErrorKind::remote}}) {
    CAPTURE(one.code);
    const Error thrown = failure_of([&] { check({ended_with(one.code)}, "reading"); });
    CHECK(thrown.kind() == one.kind);
    CHECK(std::string(thrown.what()) == "reading on n-1: it said why\nand more");
    const auto kept = confirmation(ended_with(one.code));
    REQUIRE_FALSE(kept.ok());
    CHECK(kept.error().kind() == one.kind);
    CHECK(std::string(kept.error().what()) == "n-1: it said why");
  }
}

TEST_CASE("the agent's exit codes are those of the kinds that are read from them") {
  for (const ErrorKind kind : {ErrorKind::denied, ErrorKind::capacity, ErrorKind::not_found})
    CHECK(agent::kind_of_exit(agent::exit_code(kind)) == kind);
  for (const ErrorKind kind : {ErrorKind::usage, ErrorKind::conflict, ErrorKind::transient,
                               ErrorKind::local, ErrorKind::internal})
    CHECK(agent::kind_of_exit(agent::exit_code(kind)) == ErrorKind::remote);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
