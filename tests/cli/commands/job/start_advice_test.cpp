#include "cli/commands/job/start_advice.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

std::string advice_for(std::vector<std::string> argv, bool is_here, int code = 127,
                       const std::string& sync = "") {
  const launcher::JobSpec spec{.name = {"x"}, .argv = std::move(argv), .sync = sync};
  return start_advice(spec, {.code = code}, [&](const std::string&) { return is_here; });
}

bool advises(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST_SUITE_BEGIN("cli/start_advice");

TEST_CASE("a command line that is one word is named as such") {
  CHECK(advises(advice_for({"echo hello"}, false), "write its words apart (-- echo ...)"));
  CHECK(advises(advice_for({"/opt/envs/train/current/.fastgpu/run", "echo hello"}, false),
                "write its words apart (-- echo ...)"));
  CHECK(advice_for({"my program", "x"}, false).empty());
  CHECK(advice_for({"echo hello"}, false, 1).empty());
}

TEST_CASE("a program that is here and not on the nodes is to be copied") {
  CHECK(advises(advice_for({"./train", "-v"}, true), "--sync . copies this directory"));
  CHECK(advises(advice_for({"/home/me/train"}, true), "not on the nodes"));
  CHECK(advice_for({"./train"}, false).empty());
  CHECK(advice_for({"./train"}, true, 127, "src").empty());
  CHECK(advice_for({"train"}, true).empty());
  CHECK(advice_for({"sh", "-c", "./train"}, true).empty());
  CHECK(advice_for({"./train"}, true, 126).empty());
}

TEST_CASE("a script that is on the nodes, and whose interpreter is not, is not to be copied") {
  const launcher::JobSpec spec{.name = {"x"}, .argv = {"/opt/train.py"}};
  const EndOfStart end{.code = 127,
                       .reason =
                           "rank 0 on a: /opt/train.py: its interpreter /no/python (in its "
                           "first line) does not exist"};
  const std::string advice = start_advice(spec, end, [](const std::string&) { return true; });
  CHECK(advice ==
        "install that interpreter on the nodes, or name one that they have before the program: "
        "-- python3 /opt/train.py");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
