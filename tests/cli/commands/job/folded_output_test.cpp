#include "cli/commands/job/folded_output.hpp"

#include <doctest/doctest.h>

#include "launcher/process_names.hpp"

namespace fastgpu::cli {
namespace {

using agent::OutputStream;

struct Folded : launcher::JobObserver {
  explicit Folded(std::size_t most = 1000)
      : output_of_ranks(
            *this,
            [this](const std::set<int>& ranks, OutputStream stream, std::string_view line) {
              text += "[" + launcher::rank_list(ranks) + "]" +
                      (stream == OutputStream::err ? "! " : " ") + std::string(line) + "\n";
            },
            most) {}

  void give(int rank, std::string_view bytes, OutputStream stream = OutputStream::out) {
    output_of_ranks.output(rank, stream, bytes);
  }
  std::string end() {
    output_of_ranks.finish();
    return text;
  }
  void output(int, OutputStream, std::string_view bytes) override { text += bytes; }

  std::string text;
  FoldedOutput output_of_ranks;
};

TEST_SUITE_BEGIN("cli/folded_output");

TEST_CASE("a line that several ranks have written is shown once, where the first has written it") {
  Folded folded;
  folded.give(1, "begin\nloss 0.5\n");
  folded.give(0, "begin\nloss 0.25\nend\n");
  folded.give(2, "begin\nend\n");
  folded.give(1, "end\n");
  CHECK(folded.end() == "[0-2] begin\n[1] loss 0.5\n[0] loss 0.25\n[0-2] end\n");
}

TEST_CASE("a line that one rank repeats is shown as often as it was written") {
  Folded folded;
  folded.give(0, "again\nagain\nagain\n");
  folded.give(1, "again\nother\nagain\n");
  CHECK(folded.end() == "[0-1] again\n[0-1] again\n[0] again\n[1] other\n");
}

TEST_CASE("streams are apart, and lines may come in pieces, end without an end, or be bars") {
  Folded folded;
  folded.give(0, "hal");
  folded.give(1, "half\n", OutputStream::err);
  folded.give(1, "half");
  folded.give(0, "f\n 10 %\r 90 %\r100 %\r\n");
  CHECK(folded.end() == "[1]! half\n[0-1] half\n[0] 100 %\n");
}

TEST_CASE("it holds a limited amount, and mpirun's own output passes through") {
  Folded folded(8);
  folded.give(0, "a\nb\n");
  folded.give(1, "a\nb\nc\n");
  CHECK(folded.text == "[0-1] a\n[0-1] b\n[1] c\n");
  folded.give(agent::kLauncherRank, "mpirun: ");
  folded.give(0, "a\n");
  CHECK(folded.end() == "[0-1] a\n[0-1] b\n[1] c\nmpirun: [0] a\n");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
