#include "comm/transports/abort_reason.hpp"

#include <doctest/doctest.h>

#include <string>

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/abort_reason");

TEST_CASE("a notice without a culprit blames its sender, and another the rank that it names") {
  const Error error(ErrorKind::remote, "the disk is full");
  const CausedError by_sender = error_of_abort(abort_reason(error, std::nullopt), Rank{2});
  CHECK(by_sender.culprit() == Rank{2});
  CHECK(std::string(by_sender.what()) == "the disk is full (rank 2 says so)");
  CHECK(error_of_abort(abort_reason(error, Rank{1}), Rank{2}).culprit() == Rank{1});
}

TEST_CASE("a connection between two ranks is to blame, and not the rank that reports it") {
  const Error error(ErrorKind::remote, "rank 1: the fabric between it and rank 2 carries nothing");
  const auto reason = abort_reason(error, kPair);
  CHECK(error_of_abort(reason, Rank{2}).culprit() == kPair);
}

TEST_CASE("where ranks are in different calls no rank is to blame") {
  const Error error(ErrorKind::usage, "rank 1 is in barrier number 0, but rank 2 is in another");
  const CausedError told = error_of_abort(abort_reason(error, std::nullopt), Rank{2});
  CHECK(told.kind() == ErrorKind::usage);
  CHECK_FALSE(told.culprit());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
