#include "state/recorded.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/failure.hpp"

namespace fastgpu::state {
namespace {

using Text = Recorded<std::string>;

TEST_SUITE_BEGIN("state/recorded");

TEST_CASE("a value that is to be read is read when it is first used, once for all copies") {
  int reads = 0;
  const Text text = Text::to_read([&reads] {
    ++reads;
    return std::string("a record");
  });
  const Text copy = text;
  CHECK(reads == 0);
  CHECK(*copy == "a record");
  CHECK(text->size() == 8);
  CHECK(reads == 1);
  CHECK(!copy.is_new());
}

TEST_CASE("every use of a value that cannot be read throws the reason, which is looked for once") {
  int reads = 0;
  const Text text = Text::to_read([&reads]() -> std::string {
    ++reads;
    throw Error(ErrorKind::remote, "it is damaged");
  });
  for (int i = 0; i < 2; ++i)
    CHECK(test::failure_of([&] { text->size(); }).what() == std::string("it is damaged"));
  CHECK(reads == 1);
}

TEST_CASE("a value that is assigned is new, and copies made before keep theirs") {
  Text text = Text::as_read("old");
  const Text before = text;
  text = std::string("new");
  CHECK(text.is_new());
  CHECK(*text == "new");
  CHECK(*before == "old");
  CHECK(Text().is_new());
  CHECK(Text()->empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::state
