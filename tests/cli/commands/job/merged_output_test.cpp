#include "cli/commands/job/merged_output.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

using agent::OutputStream;

class Recorder final : public launcher::JobObserver {
 public:
  void output(int rank, OutputStream, std::string_view bytes) override {
    text += std::to_string(rank) + ":" + std::string(bytes) + " ";
  }
  void written_at(int rank, OutputStream, std::int64_t time) override {
    text += std::to_string(rank) + "@" + std::to_string(time) + " ";
  }
  void rank_ended(const agent::RankEnd& end, const NodeName&) override {
    text += std::to_string(end.rank) + "! ";
  }
  std::string text;
};

void give(MergedOutput& merged, int rank, std::int64_t time, const std::string& bytes) {
  if (time > 0) merged.written_at(rank, OutputStream::out, time);
  merged.output(rank, OutputStream::out, bytes);
}

agent::RankEnd end_of(int rank) {
  agent::RankEnd end;
  end.rank = rank;
  return end;
}

TEST_SUITE_BEGIN("cli/merged_output");

TEST_CASE("the output of nodes is sorted by time, and that of one stream keeps its order") {
  Recorder seen;
  MergedOutput merged(seen, Merging::all);
  give(merged, 0, 10, "a");
  give(merged, 0, 30, "c");
  give(merged, 0, 20, "d");  // Its clock was set back.
  give(merged, 1, 20, "b");
  give(merged, 1, 0, "B");
  CHECK(seen.text.empty());
  merged.finish();
  CHECK(seen.text == "0@10 0:a 1@20 1:b 1:B 0@30 0:c 0:d ");
}

TEST_CASE("it holds a limited amount") {
  Recorder seen;
  MergedOutput merged(seen, Merging::all, 4);
  give(merged, 0, 20, "aaa");
  give(merged, 1, 10, "bb");
  CHECK(seen.text == "1@10 1:bb 0@20 0:aaa ");
  give(merged, 1, 0, "c");
  merged.finish();
  CHECK(seen.text == "1@10 1:bb 0@20 0:aaa 1@10 1:c ");
}

TEST_CASE("what was there before is sorted, and what comes live is passed on at once") {
  Recorder seen;
  MergedOutput merged(seen, Merging::backlog);
  give(merged, 0, 5, "live");
  CHECK(seen.text == "0@5 0:live ");
  seen.text.clear();
  merged.backlog_begins();
  give(merged, 0, 10, "a");
  give(merged, 0, 30, "c");
  merged.rank_ended(end_of(0), {"n-0"});
  give(merged, 1, 20, "b");
  CHECK(seen.text.empty());
  merged.backlog_ended();
  CHECK(seen.text == "0@10 0:a 1@20 1:b 0@30 0:c 0! ");
  seen.text.clear();
  give(merged, 1, 7, "live");
  merged.rank_ended(end_of(1), {"n-1"});
  CHECK(seen.text == "1@7 1:live 1! ");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
