// The output of ranks of a real agent, on the disk and as it is followed.
#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <string>

#include "support/agent_job.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using test::AgentJob;
using test::follow;
using test::Followed;
using test::kOneRank;
using test::kTwoRanks;
using test::read_text;
using test::run_agent;
using test::start_follower;
using test::write_file;

TEST_SUITE_BEGIN("agent/job_logs");

TEST_CASE("a rank's output is on the disk byte for byte, with how it ended") {
  AgentJob job(kOneRank, "printf 'a\\000b\\377\\n'; printf oops >&2; exit 4");
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  CHECK(seen.logs.at("0.out") == std::string("a\0b\xff\n", 5));
  CHECK(seen.logs.at("0.err") == "oops");
  CHECK(read_text(job.directory() / "ranks" / "0.out") == seen.logs.at("0.out"));
  CHECK(seen.ranks.at(0).how.code == 4);
  CHECK_FALSE(seen.ranks.at(0).told);
  CHECK(seen.job.at(0).how.code == 4);
}

TEST_CASE("100 MB of output pass through follow byte for byte") {
  AgentJob job(kOneRank, "yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 100000000");
  CHECK(job.start().status.ok());
  process::Child follower = start_follower(job.home, {"job"});
  std::size_t total = 0;
  bool intact = true;
  launcher::FrameDecoder decoder([&](const FrameHeader& header, std::string_view text) {
    if (header.kind != FrameKind::data || header.rank != 0) return;
    constexpr std::string_view kLine = "0123456789abcdefghijklmnopqrstuvwxyz\n";
    intact = intact && header.offset == total;
    for (const char c : text)
      intact = intact && c == kLine[total++ % kLine.size()];
  });
  std::array<char, 65536> buffer;
  for (ssize_t got = 0; (got = ::read(follower.out().get(), buffer.data(), buffer.size())) > 0;)
    decoder.feed({buffer.data(), static_cast<std::size_t>(got)});
  CHECK(decoder.ended());
  CHECK(total == 100'000'000);
  CHECK(intact);
}

TEST_CASE("a line of 10 MB without an end arrives whole") {
  AgentJob job(kOneRank, "head -c 10000000 /dev/zero | tr '\\000' x");
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("0.out") == std::string(10'000'000, 'x'));
}

TEST_CASE("a killed follower is taken up from where it was") {
  AgentJob job(kOneRank, "echo first; while [ ! -e job/go ]; do sleep 0.01; done; echo second");
  CHECK(job.start().status.ok());
  Followed seen;
  {
    process::Child follower = start_follower(job.home, {"job"});
    std::array<char, 4096> buffer;
    while (seen.logs["0.out"].empty()) {
      const ssize_t got = ::read(follower.out().get(), buffer.data(), buffer.size());
      REQUIRE(got > 0);
      seen.decoder.feed({buffer.data(), static_cast<std::size_t>(got)});
    }
  }
  write_file(job.directory() / "go", "");
  CHECK(seen.logs.at("0.out") == "first\n");
  CHECK(follow(job.home, {"job", "--from", "0.out=6"}).logs.at("0.out") == "second\n");
}

TEST_CASE("logs can be asked for by rank, by their last lines, and without waiting") {
  AgentJob job(kTwoRanks, "for i in 1 2 3 4; do echo \"$FASTGPU_RANK.$i\"; done; printf end",
               {0, 1});
  CHECK(job.start().status.ok());
  follow(job.home, {"job"});
  const Followed one = follow(job.home, {"job", "--no-follow", "--ranks", "1", "--tail", "2"});
  CHECK(one.logs.size() == 1 + 0);
  CHECK(one.logs.at("1.out") == "1.4\nend");
  const Followed all = follow(job.home, {"job", "--no-follow", "--tail", "100"});
  CHECK(all.logs.at("0.out") == "0.1\n0.2\n0.3\n0.4\nend");
  CHECK(follow(job.home, {"job", "--no-follow", "--tail", "0"}).logs.empty());
  const Followed none = follow(job.home, {"job", "--no-data"});
  CHECK(none.logs.empty());
  CHECK(none.ranks.size() == 2);
}

TEST_CASE("the last lines of a rank are those of both streams together, or of each") {
  AgentJob job(
      kOneRank,
      "echo a; sleep 0.2; echo b >&2; sleep 0.2; echo c; sleep 0.2; echo d >&2; sleep 0.2; "
      "printf 'e\\nf' >&2");
  CHECK(job.start().status.ok());
  follow(job.home, {"job"});
  using Logs = std::map<std::string, std::string>;
  const auto last = [&](const std::string& flag, const std::string& lines) {
    return follow(job.home, {"job", "--no-follow", flag, lines}).logs;
  };
  CHECK(last("--tail", "0") == Logs{});
  CHECK(last("--tail", "1") == Logs{{"0.err", "f"}});
  CHECK(last("--tail", "3") == Logs{{"0.err", "d\ne\nf"}});
  CHECK(last("--tail", "4") == Logs{{"0.out", "c\n"}, {"0.err", "d\ne\nf"}});
  CHECK(last("--tail", "5") == Logs{{"0.out", "c\n"}, {"0.err", "b\nd\ne\nf"}});
  CHECK(last("--tail", "100") == Logs{{"0.out", "a\nc\n"}, {"0.err", "b\nd\ne\nf"}});
  CHECK(last("--tail-of-log", "1") == Logs{{"0.out", "c\n"}, {"0.err", "f"}});
}

TEST_CASE("a follower without data gets the launcher's stderr, and nothing else") {
  AgentJob job(kOneRank + " & wait; echo out; printf 'a rank has failed\\n' >&2; exit 205",
               "echo out; echo err >&2");
  CHECK(job.start().status.ok());
  const std::map<std::string, std::string> launcher = {{"launcher.err", "a rank has failed\n"}};
  CHECK(follow(job.home, {"job", "--no-data"}).logs == launcher);
  CHECK(follow(job.home, {"job", "--no-data", "--no-follow", "--times"}).logs == launcher);
  CHECK(
      follow(job.home, {"job", "--no-data", "--from", "launcher.err=7"}).logs.at("launcher.err") ==
      "has failed\n");
  CHECK(follow(job.home, {"job", "--no-data", "--ranks", "0"}).logs.empty());
  CHECK(follow(job.home, {"job"}).logs.size() == 4);
}

TEST_CASE("a follower without data gets only the end of a long stderr of the launcher") {
  AgentJob job("head -c 100000 /dev/zero | tr '\\000' x >&2; printf 'the end' >&2; exit 1");
  CHECK(job.start().status.ok());
  follow(job.home, {"job"});
  CHECK(follow(job.home, {"job", "--no-data"}).logs.at("launcher.err") ==
        std::string(kLauncherTail - 7, 'x') + "the end");
}

TEST_CASE("logs have times: their lines come in order, and since a time") {
  AgentJob job(
      kTwoRanks,
      "if [ $RANK = 0 ]; then echo a; sleep 0.4; echo c; sleep 0.8; printf 'e'; sleep 0.1; echo f; "
      "else sleep 0.2; echo b; sleep 0.4; echo d; fi",
      {0, 1});
  CHECK(job.start().status.ok());
  follow(job.home, {"job"});
  const auto past = [&](const std::string& name) {
    return std::chrono::system_clock::now().time_since_epoch() -
           std::chrono::nanoseconds(
               follow(job.home, {"job", "--no-follow", "--ranks", name, "--times"}).times.back());
  };
  const Followed sorted = follow(job.home, {"job", "--no-follow", "--times"});
  CHECK(sorted.order == "a\nb\nc\nd\nef\n");
  REQUIRE(sorted.times.size() == 6);
  for (std::size_t i = 1; i < 5; ++i)
    CHECK(sorted.times[i] - sorted.times[i - 1] > 100'000'000);
  // Before the last line of rank 0 began, and after the last one of rank 1.
  const auto ago = std::chrono::duration_cast<std::chrono::milliseconds>(past("0")) + 300ms;
  const Followed late =
      follow(job.home, {"job", "--no-follow", "--since", std::to_string(ago.count())});
  CHECK(late.logs.at("0.out") == "ef\n");
  CHECK(late.logs.count("1.out") == 0);
  CHECK(follow(job.home, {"job", "--no-follow", "--since", "1000000"}).logs.at("0.out") ==
        "a\nc\nef\n");
  CHECK(follow(job.home, {"job", "--no-follow", "--since", "1000000", "--tail", "1"})
            .logs.at("0.out") == "ef\n");
}

TEST_CASE("logs are read since any time before now, even before 1970") {
  AgentJob job(kOneRank, "echo a");
  CHECK(job.start().status.ok());
  follow(job.home, {"job"});
  for (const std::string since : {"4838400000", "3155760000000", "9223372036854775807"}) {
    CAPTURE(since);
    CHECK(follow(job.home, {"job", "--no-follow", "--since", since}).logs.at("0.out") == "a\n");
  }
  for (const std::string since : {"-1", "9223372036854775808", "8w", ""}) {
    CAPTURE(since);
    const auto refused =
        run_agent(job.home, {"job-follow", "job", "--no-follow", "--since", since});
    CHECK(refused.status.code == 2);
    CHECK(refused.err.find("--since") != std::string::npos);
  }
}

TEST_CASE("a follower on a node with ranks only ends after the last of them, or when it is left") {
  AgentJob job("", "echo hello");
  job.rank.ranks = {0, 5};
  job.write_ranks();
  process::Child follower = start_follower(job.home, {"job"});
  const auto run_rank = [&](const std::string& rank) {
    process::Command command = test::agent_command(job.home, {"rank", "job"});
    process::set_variable(*command.environment, "OMPI_COMM_WORLD_RANK=" + rank);
    CHECK(process::Child(command).wait().ok());
  };
  run_rank("0");
  process::Child left = start_follower(job.home, {"job"});
  left.in() = UniqueFd();
  Followed part;
  CHECK(part.read_from(left));
  CHECK(part.ranks.size() == 1);
  run_rank("5");
  Followed all;
  CHECK(all.read_from(follower));
  CHECK(all.ranks.size() == 2);
  CHECK(all.logs.at("5.out") == "hello\n");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
