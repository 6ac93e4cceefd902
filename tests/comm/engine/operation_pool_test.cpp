#include "comm/engine/operation_pool.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace fastgpu::comm {
namespace {

/// A copy of `elements` from the input to the data, which needs no other rank.
Work copy_work(std::uint64_t elements, std::uint64_t scratch = 0) {
  Program program;
  program.steps.push_back({.kind = StepKind::copy,
                           .from = {Buffer::input, 0, elements},
                           .to = {Buffer::data, 0, elements}});
  program.scratch = scratch;
  return {.program = std::make_shared<const PreparedProgram>(
              std::move(program), Averaging::none,
              std::make_shared<const std::vector<Rank>>(1, Rank{0})),
          .reduction = {.type = ElementType::uint8},
          .call = {.kind = CallKind::broadcast, .bytes = elements}};
}

void run(Operation& operation) {
  while (const auto step = operation.next()) {
    operation.run(*step);
    operation.finished(*step);
  }
}

TEST_SUITE_BEGIN("comm/operation_pool");

TEST_CASE("an operation that has ended and has no other owner begins other work") {
  OperationPool pool;
  std::vector<std::byte> from(3, std::byte{7}), to(3);
  Work first = copy_work(3);
  first.data = to;
  first.input = from;
  auto operation = pool.begin(first);
  const Operation* const place = operation.get();
  run(*operation);
  CHECK(operation->is_done());
  pool.keep(std::move(operation));

  Work second = copy_work(2);
  std::vector<std::byte> other(2);
  second.data = other;
  second.input = std::span(from).first(2);
  const auto again = pool.begin(second);
  CHECK(again.get() == place);
  CHECK_FALSE(again->is_done());
  CHECK(again->steps_left() == 1);
  run(*again);
  CHECK(again->is_done());
  CHECK(other == std::vector<std::byte>(2, std::byte{7}));
}

TEST_CASE("a failure of an operation does not come back with the next") {
  OperationPool pool;
  auto operation = pool.begin(copy_work(1));
  operation->fail(Error(ErrorKind::remote, "rank 1 has gone"));
  pool.keep(std::move(operation));
  const auto again = pool.begin(copy_work(1));
  CHECK_FALSE(again->failure());
  CHECK_FALSE(again->is_done());
}

TEST_CASE("an operation that somebody still holds is left alone") {
  OperationPool pool;
  const auto held = pool.begin(copy_work(0));
  pool.keep(held);
  CHECK(pool.begin(copy_work(0)) != held);
}

TEST_CASE("an operation with much memory is not kept") {
  OperationPool pool;
  auto operation = pool.begin(copy_work(1, 1 << 20));
  const std::weak_ptr<Operation> seen = operation;
  pool.keep(std::move(operation));
  CHECK(seen.expired());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
