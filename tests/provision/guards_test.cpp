#include "provision/guards.hpp"

#include <doctest/doctest.h>

namespace fastgpu::provision {
namespace {

using namespace std::chrono_literals;
using state::Run;
using state::TimePoint;

const TimePoint kCreated{std::chrono::seconds(1'700'000'000)};

Guards all() {
  return {.max_life = 8h,
          .max_cost = Money{50.5, kCny},
          .unattended = 2h,
          .idle_stop = 30min,
          .idle_delete = 168h};
}

/// Two nodes at 5 an hour each since the creation.
Watched at(TimePoint now) {
  const std::vector<Run> runs = {{.index = 0, .began = kCreated}, {.index = 1, .began = kCreated}};
  return {
      .created = kCreated, .contact = kCreated, .spending = spending_of(runs, Money{5, kUsd}, now)};
}

TEST_SUITE_BEGIN("provision/guards");

TEST_CASE("only the time in which a node ran costs") {
  const std::vector<Run> runs = {
      {.index = 0, .began = kCreated, .ended = kCreated + 1h},         // Stopped,
      {.index = 0, .began = kCreated + 10h, .ended = kCreated + 12h},  // started, removed.
      {.index = 1, .began = kCreated + 11h}};
  const Spending spending = spending_of(runs, Money{4, kUsd}, kCreated + 13h);
  CHECK(spending.so_far.amount == doctest::Approx(4 * (1 + 2 + 2)));
  CHECK(spending.per_hour == Money{4, kUsd});
  CHECK_FALSE(stopped_since(runs));
  CHECK(stopped_since(std::span(runs).first(2)) == kCreated + 12h);
  CHECK_FALSE(stopped_since({}));
  CHECK(spending_of(runs, Money{4, kUsd}, kCreated).so_far.amount >=
        0);  // A clock that was set back.
}

TEST_CASE("a life is over so long after the creation, whatever happens in between") {
  const Guards guards{.max_life = 8h};
  CHECK(end_of(guards, at(kCreated + 1h), kCreated + 1h)->when == kCreated + 8h);
  Watched stopped = at(kCreated + 1h);
  stopped.stopped = kCreated + 1h;
  CHECK(end_of(guards, stopped, kCreated + 100h)->when == kCreated + 8h);
}

TEST_CASE("a cost becomes a time by the price of what runs") {
  const Guards guards{.max_cost = Money{50, kUsd}};
  CHECK(end_of(guards, at(kCreated), kCreated)->when == kCreated + 5h);
  // As long as nothing changes it is the same time, whenever it is asked for.
  CHECK(end_of(guards, at(kCreated + 3h), kCreated + 3h)->when == kCreated + 5h);
  // With one of two nodes gone after three hours, 20 are left at 5 an hour.
  Watched half = at(kCreated + 3h);
  half.spending.per_hour = {5, kUsd};
  CHECK(end_of(guards, half, kCreated + 3h)->when == kCreated + 7h);
  // What is stopped costs nothing, what has cost too much ends now.
  half.spending.per_hour = {0, kUsd};
  CHECK_FALSE(end_of(guards, half, kCreated + 3h));
  CHECK(end_of(guards, at(kCreated + 9h), kCreated + 9h)->when == kCreated + 9h);
  CHECK(end_of(guards, at(kCreated + 9h), kCreated + 9h)->cause == EndCause::max_cost);
}

TEST_CASE("a cost that is far away is no overflow") {
  const Guards guards{.max_cost = Money{1e15, kUsd}};
  CHECK(end_of(guards, at(kCreated), kCreated)->when > kCreated + 24h * 365);
}

TEST_CASE("contact puts off the end of what nobody looks after, to no more than the other limits") {
  const Guards guards{.max_life = 8h, .unattended = 2h};
  Watched cluster = at(kCreated + 1h);
  CHECK(end_of(guards, cluster, kCreated + 1h)->when == kCreated + 2h);
  CHECK(end_of(guards, cluster, kCreated + 1h)->cause == EndCause::unattended);
  cluster.contact = kCreated + 1h;
  CHECK(end_of(guards, cluster, kCreated + 1h)->when == kCreated + 3h);
  cluster.contact = kCreated + 7h;
  CHECK(end_of(guards, cluster, kCreated + 7h)->when == kCreated + 8h);
  CHECK(end_of(guards, cluster, kCreated + 7h)->cause == EndCause::max_life);
}

TEST_CASE("a stopped cluster may be left alone until its idle time is over") {
  Watched cluster = at(kCreated + 1h);
  cluster.stopped = kCreated + 1h;
  CHECK_FALSE(end_of({.unattended = 2h}, cluster, kCreated + 9h));
  CHECK(end_of({.idle_delete = 168h}, cluster, kCreated + 9h)->when == kCreated + 169h);
  cluster.stopped.reset();
  CHECK_FALSE(end_of({.idle_stop = 30min, .idle_delete = 168h}, cluster, kCreated + 9h));
}

TEST_CASE("a cluster without machines was ended by the guard whose limit was reached") {
  Watched cluster = at(kCreated + 1h);
  cluster.stopped = kCreated + 9h;  // When the loss was noticed.
  CHECK(ended_by({.unattended = 2h}, cluster, true, kCreated + 9h) == EndCause::unattended);
  CHECK(ended_by({.max_life = 8h}, cluster, false, kCreated + 9h) == EndCause::max_life);
  CHECK_FALSE(ended_by({.max_life = 8h}, cluster, true, kCreated + 7h));
  CHECK_FALSE(ended_by({}, cluster, true, kCreated + 9h));
  CHECK(ended_by({.idle_delete = 1h}, cluster, true, kCreated + 9h) == EndCause::idle);
  CHECK_FALSE(ended_by({.idle_delete = 1h}, cluster, false, kCreated + 9h));
}

TEST_CASE("machines are launched with the nearest of the limits") {
  CHECK_FALSE(first_end({}, kCreated, kCreated, Money{5, kUsd}, 2));
  CHECK(first_end({.max_life = 8h, .max_cost = Money{50, kUsd}}, kCreated, kCreated, Money{5, kUsd},
                  2) == kCreated + 5h);
  CHECK(first_end({.max_life = 8h, .max_cost = Money{50, kCny}}, kCreated, kCreated, {}, 2) ==
        kCreated + 8h);
  CHECK(first_end({.max_life = 8h, .unattended = 1h}, kCreated, kCreated + 6h, Money{5, kUsd}, 2) ==
        kCreated + 7h);
}

TEST_CASE("the reason of an end names its limit") {
  CHECK(reason_of(all(), EndCause::max_life) == "its life of 8h is over");
  CHECK(reason_of(all(), EndCause::max_cost) == "its cost has reached 50.50 CNY");
  CHECK(reason_of(all(), EndCause::unattended) == "it was unattended for 2h");
  CHECK(reason_of(all(), EndCause::idle) == "it has been idle for 7d");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
