#include "launcher/contact.hpp"

#include <doctest/doctest.h>

#include "agent/protocol/silence.hpp"

namespace fastgpu::launcher {
namespace {

using namespace std::chrono_literals;

TEST_SUITE_BEGIN("launcher/contact");

TEST_CASE("a node that the others do not miss is waited for as long as a job may be left alone") {
  CHECK_FALSE(is_lost({.silence = 44s}, kLostAfter));
  CHECK(is_lost({.silence = 45s}, kLostAfter));
  CHECK(is_lost({.silence = 2s}, 2s));
}

TEST_CASE("a node whose loss has ended all other ranks is lost before the user waits 15 seconds") {
  CHECK_FALSE(is_lost({.silence = 9s, .are_others_ended = true}, kLostAfter));
  CHECK(is_lost({.silence = 10s, .are_others_ended = true}, kLostAfter));
  // The others need the lease of ranks to end; the next connection finds them ended.
  CHECK(agent::kRankLease <= 10s);
  CHECK(agent::kFollowSilence + connect_limit(agent::kFollowSilence) <= 10s);
}

TEST_CASE("the longer a node is silent, the longer a connection to it may take") {
  CHECK(connect_limit(0s) == 2s);
  CHECK(connect_limit(8s) == 2s);
  CHECK(connect_limit(20s) == 5s);
  CHECK(connect_limit(1h) == 10s);
}

TEST_CASE("every way to notice a cut is in time, and none minds one of five seconds") {
  CHECK(agent::kNodeProbes.longest() == 9s);
  CHECK(agent::kNodeProbes.survived() == 6s);
  CHECK(agent::kSshProbes.longest() == 10s);
  CHECK(agent::kSshProbes.survived() == 6s);
  CHECK(agent::kLineSilence == 10s);
  CHECK(agent::kFollowSilence > 3 * agent::kBetweenFollowPulses);
  CHECK(agent::kNoticed == 15s);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
