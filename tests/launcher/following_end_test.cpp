// The end of a job that is followed: what is still waited for, and what is ended on the nodes.
#include <doctest/doctest.h>

#include <chrono>

#include "launcher/followed_job.hpp"

namespace fastgpu::launcher {
namespace {

using agent::FrameKind;
using followed::commands_for;
using followed::engine_of;
using followed::follow_job;
using followed::FollowedJob;
using followed::job_status;
using followed::last;
using followed::rank_status;
using followed::record_of;
using test::frame;

TEST_SUITE_BEGIN("launcher/following_end");

TEST_CASE("nothing is waited for once all ranks of a failed job have said how they ended") {
  agent::RankEnd failed;
  failed.how.code = 3;
  agent::JobEnd end;
  end.how.code = 3;
  const std::string job_failed = frame({.kind = FrameKind::job_status}, to_text(end));
  const std::string failure = frame({.kind = FrameKind::rank_status, .rank = 0}, to_text(failed));
  const auto commands_after = [&](const std::string& second, const std::string& word) {
    FollowedJob world(failure + rank_status(1) + job_failed + last(), second);
    CHECK(follow_job(world, OnCancel::stop_job).exit_code == 3);
    return commands_for(world, word);
  };
  const std::string all = rank_status(2) + rank_status(3) + last();
  CHECK(commands_after(all, "job-stop") == 0);
  CHECK(commands_after(all, "job-sweep") == 0);
  CHECK(commands_after(all, "job-follow") == 2);
  CHECK(commands_after(rank_status(2) + last(), "job-stop") == 1);
  CHECK(commands_after(rank_status(2) + last(), "job-sweep") == 1);
}

TEST_CASE(
    "an order to stop that comes to the first node last is waited for, and makes it a cancel") {
  agent::RankEnd told{.rank = 2, .how = {.code = 143}, .told = true, .host = "", .reason = ""};
  const std::string second =
      frame({.kind = FrameKind::rank_status, .rank = 2}, to_text(told)) + last();
  agent::JobEnd failed;
  failed.how.code = 205;
  const auto end_text = [&] { return frame({.kind = FrameKind::job_status}, to_text(failed)); };
  FollowedJob world(end_text() + last(), second);
  CHECK(follow_job(world, OnCancel::stop_job).state == state::JobState::failed);

  failed.ordered = true;
  int asked = 0;
  world.when_asked = [&](const std::string& host) {
    if (host == "n-0" && ++asked == 2) world.answers[0] = end_text() + last();
  };
  CHECK(follow_job(world, OnCancel::stop_job).state == state::JobState::cancelled);

  failed.ordered = false;
  failed.ended =
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  world.answers[0] = end_text() + last();
  failed.ordered = true;
  asked = 0;
  const auto glance =
      engine_of(world)->glance("train-1", record_of(world, Leftovers::ended), Asking::briefly);
  REQUIRE(glance.outcome);
  CHECK(glance.outcome->state == state::JobState::cancelled);
}

TEST_CASE("daemons that were to stay are ended on all nodes where their job does not end well") {
  struct Case {
    agent::JobEnd end;
    Leftovers leftovers;
    int stops;
  };
  const agent::JobEnd well;
  agent::JobEnd failed, late;
  failed.how.code = 3;
  late.cause = agent::StopCause::timeout;
  const Case cases[] = {{well, Leftovers::kept, 0},
                        {failed, Leftovers::kept, 1},
                        {late, Leftovers::kept, 1},
                        {failed, Leftovers::ended, 0}};
  for (const Case& one : cases) {
    CAPTURE(to_text(one.end));
    const std::string end = frame({.kind = FrameKind::job_status}, to_text(one.end));
    FollowedJob followed(rank_status(0) + rank_status(1) + end + last(),
                         rank_status(2) + rank_status(3) + last());
    follow_job(followed, OnCancel::leave_job, one.leftovers);
    FollowedJob looked_at(followed.answers[0], followed.answers[1]);
    CHECK(engine_of(looked_at)->glance("train-1", record_of(looked_at, one.leftovers)).outcome);
    for (const FollowedJob* world : {&followed, &looked_at}) {
      CHECK(commands_for(*world, "job-stop") == one.stops);
      CHECK(commands_for(*world, "job-sweep") == one.stops);
    }
  }
}

TEST_CASE("nodes that lack the folder of a job that has ended are in its outcome") {
  FollowedJob world(rank_status(0) + rank_status(1) + job_status() + last(), "");
  world.failures.emplace("n-1", Error(ErrorKind::not_found, "no such job"));
  const JobOutcome outcome = follow_job(world, OnCancel::leave_job);
  CHECK(outcome.state == state::JobState::succeeded);
  CHECK(outcome.without_folder == std::vector<NodeName>{{"n-1"}});
}

TEST_CASE("a job that a node tells lies about is stopped on all nodes") {
  FollowedJob world(last(), job_status());
  const auto follow = [&](OnCancel on_cancel) {
    world.client.seen.clear();
    const Error e = failure_of([&] { follow_job(world, on_cancel); });
    CHECK(e.kind() == ErrorKind::denied);
    std::string done;
    for (const FakeSsh::Seen& seen : world.client.seen)
      for (const std::string word : {"job-stop", "job-sweep"})
        if (seen.command.find(word) != std::string::npos) done += word + " " + seen.host + ", ";
    return done;
  };
  CHECK(follow(OnCancel::stop_job) == "job-stop n-0, job-sweep n-1, ");
  CHECK(follow(OnCancel::leave_job).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
