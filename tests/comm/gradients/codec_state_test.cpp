#include "comm/gradients/codec_state.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::failure_of;
using test::mentions;
using SavedState = std::vector<std::byte>;
using Numbers = std::vector<float>;

constexpr std::size_t kElements = 50;

GradientTable table_of(const std::vector<std::string>& names, std::uint64_t elements = kElements) {
  GradientTable table;
  for (const std::string& name : names)
    table.add({.name = name, .shape = {elements}});
  return table;
}

Numbers residuals_of(const CodecState& state, std::size_t gradient) {
  Numbers all(kElements);
  state.add_to({gradient}, 0, all);
  return all;
}

/// A state with residuals of 'a' and 'b', and the table that it belongs to.
struct Example {
  GradientTable table = table_of({"a", "b", "c"});
  CodecState state;

  Example() {
    state.resize(table.size());
    state.replace({{0}, 0, 20}, 5, Numbers{1, 2, 3});
    state.replace({{0}, 20, 30}, 40, Numbers{4});
    state.replace({{1}, 0, kElements}, 0, Numbers(kElements, 7));
    state.keep_factor({1}, Numbers{0.5F, -1});
    state.keep_memory({2}, {.first = 10, .group = 77, .own = {1, 2}, .sum = {3, 4}});
    state.step_ended();
    state.step_ended();
  }
  SavedState saved() const { return state.saved(table, {3}, 4); }
};

CodeMemory memory_of(std::size_t first, std::uint64_t group, std::size_t count) {
  return {first, group, Numbers(count), Numbers(count)};
}

TEST_SUITE_BEGIN("comm/gradients/codec_state");

TEST_CASE("residuals stay with their elements, however a gradient is cut") {
  std::mt19937 random(5);
  CodecState state;
  state.resize(1);
  Numbers model(kElements);
  for (int change = 0; change < 3000; ++change) {
    const std::size_t first = random() % kElements;
    const std::size_t count = 1 + random() % (kElements - first);
    const std::size_t kept_first = first + random() % count;
    Numbers kept(random() % (first + count - kept_first + 1));
    for (float& value : kept)
      value = static_cast<float>(1 + random() % 100);
    state.replace({{0}, first, count}, kept_first, kept);
    std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(first), count, 0.0F);
    std::ranges::copy(kept, model.begin() + static_cast<std::ptrdiff_t>(kept_first));
    REQUIRE(residuals_of(state, 0) == model);
    const std::size_t part = random() % kElements;
    Numbers some(kElements - part, 1);
    state.add_to({0}, part, some);
    for (std::size_t i = 0; i < some.size(); ++i)
      REQUIRE(some[i] == 1 + model[part + i]);
  }
}

TEST_CASE("a saved state comes back as it was") {
  const Example example;
  CodecState loaded;
  loaded.load(example.saved(), example.table, {3}, 4);
  CHECK(loaded.steps() == 2);
  for (const std::size_t gradient : {0, 1, 2})
    CHECK(residuals_of(loaded, gradient) == residuals_of(example.state, gradient));
  CHECK(Numbers(loaded.factor_of({1}).begin(), loaded.factor_of({1}).end()) == Numbers{0.5F, -1});
  CHECK(loaded.factor_of({0}).empty());
  const CodeMemory* const memory = loaded.memory_like({2}, memory_of(10, 77, 2));
  REQUIRE(memory != nullptr);
  CHECK(memory->own == Numbers{1, 2});
  CHECK(memory->sum == Numbers{3, 4});
  CHECK(loaded.saved(example.table, {3}, 4) == example.saved());
}

TEST_CASE("a memory is that of its numbers and of its group of ranks alone") {
  CodecState state = Example().state;
  CHECK(state.memory_like({2}, memory_of(10, 77, 2)) != nullptr);
  CHECK(state.memory_like({2}, memory_of(9, 77, 2)) == nullptr);
  CHECK(state.memory_like({2}, memory_of(10, 78, 2)) == nullptr);
  CHECK(state.memory_like({2}, memory_of(10, 77, 3)) == nullptr);
  CHECK(state.memory_like({1}, memory_of(10, 77, 2)) == nullptr);
  state.drop_memories();
  CHECK(state.memory_like({2}, memory_of(10, 77, 2)) == nullptr);
}

TEST_CASE("residuals find their gradients by name, and others begin at 0") {
  const Example example;
  const GradientTable other = table_of({"new", "b", "a"});
  CodecState loaded;
  loaded.load(example.saved(), other, {3}, 4);
  CHECK(residuals_of(loaded, 0) == Numbers(kElements));
  CHECK(residuals_of(loaded, 1) == residuals_of(example.state, 1));
  CHECK(residuals_of(loaded, 2) == residuals_of(example.state, 0));
  loaded.load(example.saved(), table_of({"a", "b"}, 49), {3}, 4);  // Other lengths are others.
  CHECK(loaded.saved(table_of({"a", "b"}, 49), {3}, 4).size() ==
        CodecState().saved({}, {3}, 4).size());
}

TEST_CASE("the state of another rank is refused, and nothing changes") {
  const Example example;
  CodecState loaded;
  loaded.load(example.saved(), example.table, {3}, 4);
  const Error e = failure_of([&] { loaded.load(example.saved(), example.table, {1}, 4); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(
      std::string(e.what()) ==
      "a saved state of gradients is that of rank 3 of 4, not of rank 1 of 4: what it has not sent "
      "yet would be lost, or count twice");
  CHECK(loaded.saved(example.table, {3}, 4) == example.saved());
}

TEST_CASE("the state of a job with more or fewer ranks is refused, and nothing changes") {
  const Example example;
  for (const int ranks : {5, 8}) {
    CodecState loaded;
    loaded.load(example.saved(), example.table, {3}, 4);
    const Error e = failure_of([&] { loaded.load(example.saved(), example.table, {3}, ranks); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "that of rank 3 of 4, not of rank 3 of " + std::to_string(ranks)));
    CHECK(loaded.saved(example.table, {3}, 4) == example.saved());
  }
}

TEST_CASE("a damaged state is refused as such, wherever it is cut or changed") {
  const Example example;
  const SavedState saved = example.saved();
  for (std::size_t length = 0; length < saved.size(); ++length) {
    CodecState state;
    const Error e =
        failure_of([&] { state.load(std::span(saved).first(length), example.table, {3}, 4); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "damaged"));
  }
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    SavedState changed = saved;
    for (auto changes = 1 + random() % 3; changes > 0; --changes)
      changed[random() % changed.size()] = static_cast<std::byte>(random() & 0xffU);
    if (changed == saved) continue;
    CodecState state;
    state.resize(example.table.size());
    const Error e = failure_of([&] { state.load(changed, example.table, {3}, 4); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(residuals_of(state, 1) == Numbers(kElements));
  }
  SavedState longer = saved;
  longer.push_back({});
  CodecState state;
  CHECK(mentions(failure_of([&] { state.load(longer, example.table, {3}, 4); }), "damaged"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
