#include "agent/jobs/blame.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "agent/protocol/status.hpp"
#include "support/agent_job.hpp"

namespace fastgpu::agent {
namespace {

using test::AgentJob;
using test::follow;
using test::Followed;
using test::ScratchHome;
using test::write_file;

constexpr PlaceInJob kPlace{.rank = 2, .local_rank = 0, .size = 4};

TEST_SUITE_BEGIN("agent/blame");

TEST_CASE("the last of three numbers is the rank that is blamed, and no other text blames one") {
  CHECK(blamed_rank("2 4 1\n", kPlace) == 1);
  CHECK(blamed_rank("2 4 0\n", kPlace) == 0);
  for (const char* text :
       {"", "\n", "2 4 1", "2 4\n", "2 4 1 1\n", "2 4 x\n", "2 4 -1\n", "2 4 4\n",
        "2 4 99999999999\n", "2  1\n", "1 4 0\n", "2 3 1\n", "2 4 2\n", "2 4 1\n\n"})
    CHECK_MESSAGE(!blamed_rank(text, kPlace), text);
}

TEST_CASE("what is no small file blames no rank, and does not block") {
  const ScratchHome home;
  const auto file = home.path() / "2.blame";
  CHECK_FALSE(read_blame(file, kPlace));
  write_file(file, "2 4 1\n");
  CHECK(read_blame(file, kPlace) == 1);
  write_file(file, std::string(1 << 20, ' '));
  CHECK_FALSE(read_blame(file, kPlace));
  std::filesystem::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK_FALSE(read_blame(file, kPlace));
  std::filesystem::remove(file);
  write_file(home.path() / "other", "2 4 1\n");
  std::filesystem::create_symlink(home.path() / "other", file);
  CHECK_FALSE(read_blame(file, kPlace));
}

TEST_CASE("the end of a rank keeps the rank that it blames, and may lack it") {
  RankEnd end;
  end.rank = 2;
  CHECK_FALSE(parse_rank_end(to_text(end)).blames);
  end.blames = 0;
  CHECK(parse_rank_end(to_text(end)).blames == 0);
  const std::string text = to_text(RankEnd{});
  for (const std::string number : {"-1", "4294967296"}) {
    CAPTURE(number);
    CHECK_FALSE(parse_rank_end(text + "blames=" + number + std::string(1, '\0')).blames);
  }
}

TEST_CASE("a rank that another one has broken ends for its launcher after that one") {
  // The launcher ends rank 1 as soon as rank 0 has ended, as mpirun does.
  const std::string launcher =
      "export OMPI_COMM_WORLD_SIZE=2; OMPI_COMM_WORLD_RANK=1 \"$AGENT\" rank job & pid=$!; "
      "OMPI_COMM_WORLD_RANK=0 \"$AGENT\" rank job; kill $pid; wait $pid";
  AgentJob job(launcher,
               "if [ $RANK = 0 ]; then echo 0 2 1 >$FASTGPU_BLAME_FILE; exit 1; fi; "
               "echo broken; sleep 0.7; exit 3",
               {0, 1});
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  CHECK(seen.ranks.at(0).how.code == 1);
  CHECK(seen.ranks.at(0).blames == 1);
  CHECK_FALSE(seen.ranks.at(1).told);
  CHECK(seen.ranks.at(1).how.code == 3);
  CHECK_FALSE(seen.ranks.at(1).blames);
}

TEST_CASE("a note of an earlier run, and that of a rank that ends well, blame no rank") {
  const std::string launcher = "export OMPI_COMM_WORLD_SIZE=2; " + test::kOneRank;
  AgentJob old(launcher, "exit 1");
  write_file(old.directory() / "ranks" / "0.blame", "0 2 1\n");
  CHECK(old.start().status.ok());
  CHECK_FALSE(follow(old.home, {"job"}).ranks.at(0).blames);
  AgentJob well(launcher, "echo 0 2 1 >$FASTGPU_BLAME_FILE");
  CHECK(well.start().status.ok());
  CHECK_FALSE(follow(well.home, {"job"}).ranks.at(0).blames);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
