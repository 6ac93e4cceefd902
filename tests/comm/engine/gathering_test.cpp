#include "comm/engine/gathering.hpp"

#include <doctest/doctest.h>

namespace fastgpu::comm {
namespace {

constexpr int kManyCalls = 100;

/// Runs a call whose message is there at the look of this number; returns its pauses.
int pauses_of(Gathering& gathering, bool may_gather, int looks) {
  gathering.begin(may_gather);
  int pauses = 0;
  for (int i = 0; i < looks; ++i)
    pauses += gathering.is_due() ? 1 : 0;
  return pauses;
}

/// Returns the pauses of the last of many such calls.
int pauses_of_last(Gathering& gathering, bool may_gather, int looks) {
  int pauses = 0;
  for (int i = 0; i < kManyCalls; ++i)
    pauses = pauses_of(gathering, may_gather, looks);
  return pauses;
}

TEST_SUITE_BEGIN("comm/engine/gathering");

TEST_CASE("a rank that only receives pauses before a further look, after many calls") {
  Gathering gathering;
  CHECK(pauses_of(gathering, true, 2) == 0);
  CHECK(pauses_of_last(gathering, true, 2) == 2);
  CHECK(pauses_of(gathering, true, 0) == 0);
  CHECK(pauses_of(gathering, true, 1) == 1);
}

TEST_CASE("a rank that sends as well never pauses, nor soon after") {
  Gathering gathering;
  CHECK(pauses_of_last(gathering, false, 2) == 0);
  CHECK(pauses_of_last(gathering, true, 2) == 2);
  CHECK(pauses_of(gathering, false, 2) == 0);
  CHECK(pauses_of(gathering, true, 2) == 0);
}

TEST_CASE("where messages are long in coming, few of them wait for a pause") {
  Gathering gathering;
  int pauses = 0;
  int calls_with_pauses = 0;
  for (int i = 0; i < kManyCalls; ++i) {
    const int of_call = pauses_of(gathering, true, 1000);
    pauses += of_call;
    calls_with_pauses += of_call > 0 ? 1 : 0;
  }
  CHECK(calls_with_pauses <= 3);
  CHECK(pauses <= 9);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
