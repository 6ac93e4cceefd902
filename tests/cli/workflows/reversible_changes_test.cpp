#include "cli/workflows/reversible_changes.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"

namespace fastgpu::cli {
namespace {

TEST_SUITE_BEGIN("cli/reversible_changes");

TEST_CASE("the last change is undone first") {
  std::string order;
  ReversibleChanges changes;
  changes.add("the port", [&] { order += "port "; });
  changes.add("the key", [&] { order += "key "; });
  CHECK(changes.undo() == "; what it had changed is undone");
  CHECK(order == "key port ");
  CHECK(changes.undo().empty());
}

TEST_CASE("a change that cannot be undone is named, and the others are undone") {
  bool is_closed = false;
  ReversibleChanges changes;
  changes.add("the port", [&] { is_closed = true; });
  changes.add("2 machines that it started", [] { throw Error(ErrorKind::transient, "no answer"); });
  CHECK(changes.undo() == "; it could not undo 2 machines that it started (no answer)");
  CHECK(is_closed);
}

TEST_CASE("nothing is undone that is kept") {
  bool is_undone = false;
  ReversibleChanges changes;
  changes.add("the port", [&] { is_undone = true; });
  changes.keep();
  CHECK(changes.undo().empty());
  CHECK(changes.is_kept());
  CHECK_FALSE(is_undone);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
