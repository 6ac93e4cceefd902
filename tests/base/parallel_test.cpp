#include "base/parallel.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

namespace fastgpu {
namespace {

TEST_CASE("an exception of any type is the outcome of its item, and ends no program") {
  const std::vector<int> items = {0, 1, 2, 3};
  const auto outcomes = parallel_map(std::span<const int>(items), 4, [](const int& item) {
    if (item == 1) throw std::out_of_range("no such member");
    if (item == 2) throw 7;
    if (item == 3) throw Error(ErrorKind::denied, "no");
    return item;
  });
  CHECK(outcomes[0].value() == 0);
  CHECK(outcomes[1].error().kind() == ErrorKind::internal);
  CHECK(std::string(outcomes[1].error().what()) == "no such member");
  CHECK(outcomes[2].error().kind() == ErrorKind::internal);
  CHECK(outcomes[3].error().kind() == ErrorKind::denied);
}

}  // namespace
}  // namespace fastgpu
