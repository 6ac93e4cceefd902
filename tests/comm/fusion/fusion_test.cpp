#include "comm/fusion/fusion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

namespace fastgpu::comm {
namespace {

using Random = std::mt19937;

GradientTable random_table(Random& random) {
  GradientTable table;
  const std::size_t count = random() % 40;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t length = random() % 5 == 0 ? random() % 5000 : random() % 100;
    table.add({.name = std::to_string(i),
               .type = random() % 3 == 0 ? ElementType::float64 : ElementType::float32,
               .shape = {length},
               .priority = static_cast<std::int32_t>(random() % 3)});
  }
  return table;
}

std::vector<ElementType> own_types(const GradientTable& table) {
  std::vector<ElementType> types;
  for (std::size_t i = 0; i < table.size(); ++i)
    types.push_back(table[{i}].type);
  return types;
}

TEST_SUITE_BEGIN("comm/fusion");

TEST_CASE("random plans carry every element once, aligned, in order and in one piece") {
  Random random(1);
  for (int run = 0; run < 500; ++run) {
    const GradientTable table = random_table(random);
    const Bytes granularity{64 + random() % 4096};
    const auto order = initial_order(table);
    const FusionPlan plan = plan_fusion(table, order, own_types(table), granularity);
    std::vector<std::size_t> carried(table.size());
    std::size_t end = 0;
    for (const Bucket& bucket : plan.buckets) {
      CHECK(bucket.offset % kFusionAlignment == 0);
      CHECK(bucket.bytes > 0);
      CHECK(bucket.bytes <= granularity.count);
      end = std::max(end, bucket.offset + bucket.bytes);
      REQUIRE_FALSE(bucket.pieces.empty());
      for (const GradientPiece& piece : bucket.pieces) {
        const std::size_t id = piece.gradient.value;
        const std::size_t element = size_of(bucket.type);
        CHECK(bucket.type == table[piece.gradient].type);
        CHECK(piece.first == carried[id]);
        CHECK(piece.offset == plan.offset_of[id] + piece.first * element);
        CHECK(piece.offset >= bucket.offset);
        CHECK(piece.offset + piece.count * element <= bucket.offset + bucket.bytes);
        CHECK(plan.offset_of[id] % kFusionAlignment == 0);
        carried[id] += piece.count;
      }
    }
    CHECK(end <= plan.buffer_bytes);
    for (std::size_t i = 0; i < table.size(); ++i)
      CHECK(carried[i] == table.elements({i}));
    // No two stretches of the buffer overlap.
    auto buckets = plan.buckets;
    std::ranges::sort(buckets, {}, &Bucket::offset);
    for (std::size_t i = 1; i < buckets.size(); ++i)
      CHECK(buckets[i - 1].offset + buckets[i - 1].bytes <= buckets[i].offset);
  }
}

TEST_CASE("small gradients merge, and one that fits into a bucket is not cut") {
  GradientTable table;
  for (const char* name : {"a", "b", "c"})
    table.add({.name = name, .shape = {16}});
  table.add({.name = "d", .shape = {20}});
  const auto order = initial_order(table);  // d c b a
  const FusionPlan plan = plan_fusion(table, order, own_types(table), {192});
  REQUIRE(plan.buckets.size() == 2);
  CHECK(plan.buckets[0].pieces.size() == 2);
  CHECK(plan.buckets[0].bytes == 192);
  CHECK(plan.buckets[1].pieces.size() == 2);
}

TEST_CASE("a large gradient is cut, and its last part leaves room for others") {
  GradientTable table;
  table.add({.name = "small", .shape = {4}});
  table.add({.name = "large", .shape = {100}});
  const FusionPlan plan = plan_fusion(table, initial_order(table), own_types(table), {256});
  REQUIRE(plan.buckets.size() == 2);
  CHECK(plan.buckets[0].bytes == 256);
  CHECK(plan.buckets[1].pieces.size() == 2);
  CHECK(plan.buckets[1].pieces[0].gradient == GradientId{1});
  CHECK(plan.buckets[1].pieces[0].first == 64);
}

TEST_CASE("encoded gradients that must stay whole have a bucket that is large enough") {
  GradientTable table;
  for (const std::uint64_t length : {10U, 1000U, 20U, 2000U})
    table.add({.name = std::to_string(length), .shape = {length}});
  const std::vector<ElementType> types(4, ElementType::float32);
  const std::vector<GradientId> order = {{0}, {1}, {2}, {3}};
  const FusionPlan plan =
      plan_fusion(table, order, types, {1024}, {true, true, true, false}, EncodedPieces::whole);
  std::size_t pieces = 0;
  for (const Bucket& bucket : plan.buckets)
    for (const GradientPiece& piece : bucket.pieces) {
      if (!bucket.is_encoded) continue;
      ++pieces;
      CHECK(piece.first == 0);
      CHECK(piece.count == table.elements(piece.gradient));
      CHECK(piece.offset + 4 * piece.count <= bucket.offset + bucket.bytes);
    }
  CHECK(pieces == 3);
  CHECK(plan.buckets.size() > 8);  // The last gradient is cut.
}

TEST_CASE("buckets are launched in the order of the last gradient that they carry") {
  GradientTable table;
  table.add({.name = "a", .type = ElementType::float32, .shape = {1}});
  table.add({.name = "b", .type = ElementType::float64, .shape = {1}});
  table.add({.name = "c", .type = ElementType::float32, .shape = {1}});
  const FusionPlan plan = plan_fusion(table, initial_order(table), own_types(table), {1024});
  REQUIRE(plan.buckets.size() == 2);
  CHECK(plan.buckets[0].type == ElementType::float64);
  CHECK(plan.buckets[1].type == ElementType::float32);
}

TEST_CASE("plans differ in their hash where order or granularity does") {
  Random random(2);
  const GradientTable table = random_table(random);
  auto order = initial_order(table);
  const auto types = own_types(table);
  const auto first = hash(plan_fusion(table, order, types, {4096}));
  CHECK(first == hash(plan_fusion(table, order, types, {4096})));
  CHECK(first != hash(plan_fusion(table, order, types, {512})));
  std::ranges::reverse(order);
  CHECK(first != hash(plan_fusion(table, order, types, {4096})));
}

TEST_CASE("what was registered last comes first, and a bucket is as urgent as its most urgent") {
  GradientTable table;
  table.add({.name = "a", .shape = {16}, .priority = 7});
  table.add({.name = "b", .shape = {16}, .priority = -1});
  table.add({.name = "c", .shape = {64}, .priority = -2});
  const auto order = initial_order(table);
  CHECK(order == std::vector<GradientId>{{2}, {1}, {0}});
  const FusionPlan plan = plan_fusion(table, order, own_types(table), {256});
  REQUIRE(plan.buckets.size() == 2);
  CHECK(plan.buckets[0].priority == -2);
  CHECK(plan.buckets[1].priority == 7);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
