#include "provision/cloud/in_parts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

using test::failure_of;
using Ids = std::vector<std::string>;

/// A cloud that refuses a call for the first id in it that it does not take.
struct Desk {
  std::set<std::string> bad{};
  ErrorKind kind = ErrorKind::not_found;
  bool names_them = false;
  int calls = 0;
  Ids done{};
  int pauses = 0;
  std::function<void()> on_pause = [] {};

  Order order() {
    return [this](std::span<const std::string> ids) {
      ++calls;
      std::string named;
      for (const std::string& id : ids)
        if (bad.contains(id)) named += " '" + id + "'";
      if (!named.empty()) throw Error(kind, "no such machine" + (names_them ? named : ""));
      done.insert(done.end(), ids.begin(), ids.end());
    };
  }
  Wait pause() {
    return [this](std::chrono::milliseconds, const Cancel&) {
      ++pauses;
      on_pause();
    };
  }
};

Ids some(int count) {
  Ids ids;
  for (int i = 0; i < count; ++i)
    ids.push_back("i-" + std::to_string(i));
  return ids;
}

TEST_CASE("one bad id spoils none of the others") {
  for (const ErrorKind kind : {ErrorKind::not_found, ErrorKind::remote, ErrorKind::conflict})
    for (const bool names_them : {false, true}) {
      Desk desk{.bad = {"i-1", "i-6"}, .kind = kind, .names_them = names_them};
      const auto refused = order_in_parts(some(20), desk.order());
      REQUIRE(refused.size() == 2);
      CHECK(refused[0].id == "i-1");
      CHECK(refused[1].id == "i-6");
      CHECK(desk.done.size() == 18);
      CHECK(desk.calls <= (names_them ? 2 : 20));
    }
}

TEST_CASE("machines that still need an order get it until none is left, or three times") {
  const auto may_pass = [](const RefusedId& one) {
    return one.error.kind() == ErrorKind::conflict;
  };
  Desk desk{.bad = {"i-1"}, .kind = ErrorKind::conflict};
  int looks = 0;
  int looks_until_free = 2;
  const auto due = [&] {
    std::vector<Machine> machines;
    for (const std::string& id : some(3))
      if (std::ranges::find(desk.done, id) == desk.done.end()) machines.push_back({.id = id});
    if (++looks == looks_until_free) desk.bad.clear();
    return machines;
  };
  order_due(due, desk.order(), may_pass);
  CHECK(looks == 3);
  CHECK(desk.done.size() == 3);

  desk = {.bad = {"i-1"}, .kind = ErrorKind::conflict};
  looks = 0;
  looks_until_free = 100;
  CHECK(failure_of([&] { order_due(due, desk.order(), may_pass); }).kind() == ErrorKind::conflict);
  CHECK(looks == 3);

  desk = {.bad = {"i-1"}, .kind = ErrorKind::remote};
  looks = 0;
  CHECK(failure_of([&] { order_due(due, desk.order(), may_pass); }).kind() == ErrorKind::remote);
  CHECK(looks == 1);
}

TEST_CASE("an id that is the beginning of another is not taken for it") {
  Desk desk{.bad = {"i-10"}, .names_them = true};
  const auto refused = order_in_parts(some(12), desk.order());
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].id == "i-10");
  CHECK(desk.done.size() == 11);
}

TEST_CASE("what is about none of them is thrown at once") {
  for (const ErrorKind kind : {ErrorKind::denied, ErrorKind::capacity, ErrorKind::transient}) {
    Desk desk{.bad = {"i-1"}, .kind = kind};
    CHECK(failure_of([&] { order_in_parts(some(8), desk.order()); }).kind() == kind);
    CHECK(desk.calls == 1);
  }
}

TEST_CASE("a refusal of everything takes a limited number of calls") {
  Desk desk{.bad = {}, .kind = ErrorKind::remote};
  const Ids all = some(1000);
  desk.bad = {all.begin(), all.end()};
  CHECK(order_in_parts(all, desk.order()).size() == 1000);
  CHECK(desk.calls <= 300);
}

TEST_CASE("a machine that is known some seconds later is ordered then, and the others before") {
  Desk desk{.bad = {"i-2"}};
  desk.on_pause = [&] {
    CHECK(desk.done.size() == 3);
    desk.bad.clear();
  };
  order_known(some(4), desk.order(), desk.pause(), Cancel());
  CHECK(desk.done.size() == 4);
  CHECK(desk.pauses == 1);
}

TEST_CASE("a machine that stays unknown is gone, and no other refusal is passed over") {
  Desk desk{.bad = {"i-2"}};
  CHECK_NOTHROW(order_known(some(4), desk.order(), desk.pause(), Cancel()));
  CHECK(desk.done.size() == 3);
  Desk other{.bad = {"i-2"}, .kind = ErrorKind::remote};
  CHECK(failure_of([&] { order_known(some(4), other.order(), other.pause(), Cancel()); }).kind() ==
        ErrorKind::remote);
  CHECK(other.done.size() == 3);
}

TEST_CASE("an order that names one machine a call is given for all, whatever one comes to") {
  std::atomic<int> calls{0};
  const auto order = [&](const std::string& id) {
    ++calls;
    if (id == "i-0") throw Error(ErrorKind::remote, "locked");
  };
  Desk desk;
  CHECK(failure_of([&] { order_each(some(5), order, desk.pause(), Cancel()); }).kind() ==
        ErrorKind::remote);
  CHECK(calls == 5);
}

}  // namespace
}  // namespace fastgpu::provision::cloud
