#include "remote/lines.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace fastgpu::remote {
namespace {

TEST_SUITE_BEGIN("remote/lines");

TEST_CASE("pieces become whole lines, and the rest comes at the end") {
  std::vector<std::string> calls;
  LineCutter cutter([&](std::string_view text) { calls.emplace_back(text); });
  for (const char* piece : {"a", "b\nc", "", "\n\nd\ne", "f"})
    cutter.add(piece);
  cutter.finish();
  CHECK(calls == std::vector<std::string>{"ab\n", "c\n\nd\n", "ef"});
}

TEST_CASE("a line without end is given on in parts") {
  std::size_t largest = 0;
  std::size_t total = 0;
  LineCutter cutter([&](std::string_view text) {
    largest = std::max(largest, text.size());
    total += text.size();
  });
  for (int i = 0; i < 1000; ++i)
    cutter.add(std::string(10'000, 'x'));
  cutter.finish();
  CHECK(total == 10'000'000);
  CHECK(largest < LineCutter::kLongest + 10'000);
}

TEST_CASE("hosts with equal outputs are folded, in the order met") {
  const std::vector<HostText> outputs = {
      {NodeName{"a"}, "1"}, {NodeName{"b"}, "2"}, {NodeName{"c"}, "1"}};
  const auto groups = fold(outputs);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].hosts == std::vector{NodeName{"a"}, NodeName{"c"}});
  CHECK(groups[0].text == "1");
  CHECK(groups[1].hosts == std::vector{NodeName{"b"}});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::remote
