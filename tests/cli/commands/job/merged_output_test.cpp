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
  std::string text;
};

void give(MergedOutput& merged, int rank, std::int64_t time, const std::string& bytes) {
  if (time > 0) merged.written_at(rank, OutputStream::out, time);
  merged.output(rank, OutputStream::out, bytes);
}

TEST_SUITE_BEGIN("cli/merged_output");

TEST_CASE("the output of nodes is sorted by time, and that of one stream keeps its order") {
  Recorder seen;
  MergedOutput merged(seen);
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
  MergedOutput merged(seen, 4);
  give(merged, 0, 20, "aaa");
  give(merged, 1, 10, "bb");
  CHECK(seen.text == "1@10 1:bb 0@20 0:aaa ");
  give(merged, 1, 0, "c");
  merged.finish();
  CHECK(seen.text == "1@10 1:bb 0@20 0:aaa 1@10 1:c ");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
