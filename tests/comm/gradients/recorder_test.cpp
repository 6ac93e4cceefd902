// What a rank leaves behind, for whoever comes before its end or after it was killed.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "comm/gradients/recorder.hpp"
#include "support/connect_in_process.hpp"
#include "support/run_ranks.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

/// One rank alone, and the folders that it writes to.
struct Recorded {
  explicit Recorded(Timeline::Clock::duration between_writes)
      : recorder(ranks.front(), settings, nullptr, between_writes) {}

  json timeline() const { return json::parse(std::ifstream(settings.timeline + "/rank-0.json")); }
  json counters() const { return json::parse(std::ifstream(settings.counters + "/rank-0.json")); }
  bool is_written() const { return std::filesystem::exists(settings.timeline + "/rank-0.json"); }

  test::TempDirectory folder{};
  GradientSettings settings = [this] {
    GradientSettings some;
    some.timeline = folder.path() / "timeline";
    some.counters = folder.path() / "counters";
    return some;
  }();
  std::vector<Communicator> ranks = test::communicators_in_process(1, 20s);
  Recorder recorder;
};

TEST_SUITE_BEGIN("comm/recorder");

TEST_CASE("timelines and counters are there while the program runs") {
  Recorded rank(0s);
  rank.recorder.timeline()->add({.name = "ready"});
  rank.recorder.step_ended();
  REQUIRE(rank.timeline()["traceEvents"].size() == 2);
  CHECK(rank.timeline()["traceEvents"][1]["name"] == "ready");
  CHECK(rank.counters()["counters"]["steps"] == 1);
}

TEST_CASE("who waits for others leaves what came before") {
  Recorded rank(0s);
  rank.recorder.timeline()->add({.name = "ready"});
  rank.recorder.ranks_are_late();
  CHECK(rank.timeline()["traceEvents"].size() == 2);
  CHECK(rank.counters()["counters"]["late_ranks"] == 1);
}

TEST_CASE("what each network has carried is in the counters of a rank") {
  test::TempDirectory folder;
  GradientSettings settings;
  settings.counters = folder.path();
  auto ranks = test::communicators_in_process(2, 20s, SharedMemory::off);
  test::run_ranks(ranks, [&](Communicator& comm) {
    Recorder recorder(comm, settings, nullptr, 0s);
    std::vector<float> values(100'000, 1);
    comm.all_reduce(std::span(values), ReduceOp::sum);
    comm.barrier();
    recorder.step_ended();
  });
  for (int rank = 0; rank < 2; ++rank) {
    const std::string name = settings.counters + "/rank-" + std::to_string(rank);
    const json links = json::parse(std::ifstream(name + ".json"))["links"];
    REQUIRE(links.size() == 1);
    CHECK(links[0]["bytes_sent"] >= 400'000);
    CHECK(links[0]["bytes_received"] >= 400'000);
    CHECK(links[0]["connections"] == 1);
    CHECK(links[0]["failures"] == 0);
    std::stringstream text;
    text << std::ifstream(name + ".prom").rdbuf();
    CHECK(text.str().find("fastgpu_comm_link_bytes_sent_total{rank=\"" + std::to_string(rank)) !=
          std::string::npos);
  }
}

TEST_CASE("a folder that cannot be written to is reported at once, with its variable, and once") {
  test::TempDirectory folder;
  std::ofstream(folder.path() / "taken") << "a file";
  GradientSettings settings;
  settings.timeline = folder.path() / "taken";
  settings.counters = folder.path() / "taken/below";
  auto ranks = test::communicators_in_process(1, 20s);
  std::vector<std::string> warnings;
  {
    Recorder recorder(
        ranks.front(), settings, [&](const std::string& sentence) { warnings.push_back(sentence); },
        0s);
    CHECK(warnings.size() == 2);
    recorder.step_ended();
  }
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0] == "FASTGPU_COMM_COUNTERS is '" + settings.counters +
                           "', but rank 0 cannot write rank-0.json there: Not a directory");
  CHECK(warnings[1] == "FASTGPU_COMM_TIMELINE is '" + settings.timeline +
                           "', but rank 0 cannot write rank-0.json there: Not a directory");
}

TEST_CASE("a folder that is lost later is reported, too") {
  test::TempDirectory folder;
  GradientSettings settings;
  settings.counters = folder.path() / "counters";
  auto ranks = test::communicators_in_process(1, 20s);
  std::vector<std::string> warnings;
  {
    Recorder recorder(
        ranks.front(), settings, [&](const std::string& sentence) { warnings.push_back(sentence); },
        0s);
    recorder.step_ended();
    CHECK(warnings.empty());
    std::filesystem::remove_all(settings.counters);
    std::ofstream(settings.counters) << "in its place";
  }
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("FASTGPU_COMM_COUNTERS") == 0);
}

TEST_CASE("two sets of gradients of one rank leave files of their own") {
  test::TempDirectory folder;
  GradientSettings settings;
  settings.timeline = folder.path() / "t";
  settings.counters = folder.path() / "c";
  auto ranks = test::communicators_in_process(1, 20s);
  const auto has = [&](const std::string& name) {
    return std::filesystem::exists(folder.path() / name);
  };
  {
    Recorder first(ranks.front(), settings, nullptr, 0s);
    Recorder second(ranks.front(), settings, nullptr, 0s);
    second.step_ended();
    CHECK_FALSE(has("t/rank-0.json"));
    CHECK(has("t/rank-0-2.json"));
    CHECK(has("c/rank-0-2.json"));
    CHECK_FALSE(has("c/rank-0-2.prom"));
    first.step_ended();
    CHECK(has("t/rank-0.json"));
    CHECK(has("c/rank-0.prom"));
  }
  // The files of closed sets stay. Prometheus gets the counts of a set that is open.
  std::filesystem::remove(folder.path() / "c/rank-0.prom");
  std::optional<Recorder> third(std::in_place, ranks.front(), settings, nullptr, 0s);
  std::optional<Recorder> fourth(std::in_place, ranks.front(), settings, nullptr, 0s);
  fourth->step_ended();
  CHECK(has("t/rank-0-4.json"));
  CHECK_FALSE(has("c/rank-0.prom"));
  third.reset();
  CHECK(has("t/rank-0-3.json"));
  CHECK(has("c/rank-0.prom"));
  std::filesystem::remove(folder.path() / "c/rank-0.prom");
  fourth.reset();
  CHECK(has("c/rank-0.prom"));
}

TEST_CASE("not every step writes") {
  Recorded rank(1h);
  rank.recorder.step_ended();
  CHECK_FALSE(rank.is_written());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
