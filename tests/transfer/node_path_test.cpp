#include "transfer/node_path.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "support/failure.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("transfer/node_path");

TEST_CASE("a path that nodes would take in another way than its user is refused with the reason") {
  for (const std::string path : {"x", "/data/x", "~", "~/x", "~/", "./~", "./~ann/x", "a~", "a$b",
                                 "cost$", "$", "$5", ".", "/a/$HOME;", "/c/$RECYCLE.BIN/x"})
    CHECK(parse_node_path(path).value == path);
  const auto reason = [](const std::string& path) {
    const Error e = failure_of([&] { parse_node_path(path); });
    CHECK(e.kind() == ErrorKind::usage);
    return std::string(e.what());
  };
  for (const std::string path : {"~ann", "~ann/x", "~+", "~~"})
    CHECK(reason(path).find("'" + path + "': of ~ only the home directory") == 0);
  for (const std::string path :
       {"$HOME", "$HOME/x", "/data/$USER/x", "${HOME}/x", "~/$X", "$_a", "$HOME-2", "a/${X}"})
    CHECK(reason(path).find("'" + path + "': variables are not expanded on the nodes") == 0);
  CHECK(reason("") == "the path is empty");
  CHECK(reason(std::string("a\0b", 3)).find("NUL byte") != std::string::npos);
}

TEST_CASE("a relative path starts in its directory, and ~ at the home directory") {
  CHECK(node_path_in({"work"}, {"out"}).value == "work/out");
  CHECK(node_path_in({""}, {"out"}).value == "out");
  CHECK(node_path_in({"~/work"}, {"out"}).value == "~/work/out");
  CHECK(node_path_in({"work"}, {"/data"}).value == "/data");
  CHECK(node_path_in({"/work"}, {"~/out"}).value == "~/out");
  CHECK(node_path_in({"/work"}, {"~"}).value == "~");
  CHECK(node_path_in({"/work"}, {"./~"}).value == "/work/./~");
}

TEST_CASE("a path on a node is below the home directory unless it is absolute") {
  const std::string home = std::getenv("HOME");
  CHECK(below_home("") == home);
  CHECK(below_home("~") == home);
  CHECK(below_home("~/") == home);
  CHECK(below_home("~/a/b") == home + "/a/b");
  CHECK(below_home("~//a") == home + "/a");
  CHECK(below_home("a") == home + "/a");
  CHECK(below_home("./~/a") == home + "/./~/a");
  CHECK(below_home("/a") == "/a");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
