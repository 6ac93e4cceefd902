#include "envs/matrix/name.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("envs name");

TEST_CASE("a name of the seed says its frameworks, CUDA and Python") {
  const EnvironmentName name = parse_environment_name("aiacct_tf1.15_tr1.4.0_mx1.5.0_cu10.0_py36");

  CHECK(name.has_prefix);
  const std::vector<FrameworkVersion> frameworks = {
      {Framework::tensorflow, "1.15"}, {Framework::pytorch, "1.4.0"}, {Framework::mxnet, "1.5.0"}};
  CHECK(name.frameworks == frameworks);
  CHECK(name.accelerator == Accelerator{Platform::cuda, "10.0"});
  CHECK(name.python == "3.6");
}

TEST_CASE("every name is printed as it was read") {
  for (const char* text :
       {"tf2.1_cu10.1_py36", "aiacct_tf2.1_cu10.1_py36", "tr2.5.1_cpu_py312",
        "tr2.8.0_can8.3.RC1_py311", "tf1.15_tr1.4.0_mx1.5.0_cu10.0_py36", "jx0.9.2_cu13.0_py314"})
    CHECK(to_string(parse_environment_name(text)) == text);
}

TEST_CASE("a name may leave the accelerator open where that is looked for") {
  const WantedName open = parse_wanted_name("aiacct_mx1.5.0_tf1.15_py36");
  CHECK_FALSE(open.has_accelerator);
  CHECK(open.name.python == "3.6");
  CHECK(to_string(open) == "aiacct_tf1.15_mx1.5.0_py36");
  const WantedName whole = parse_wanted_name("tr2.5.1_cpu_py312");
  CHECK(whole.has_accelerator);
  CHECK(to_string(whole) == "tr2.5.1_cpu_py312");
  for (const char* text : {"py311", "tr2.5.1_py", "tr2.5.1_py311_cpu", "tr2.5.1", "tr2.5.1_"})
    CHECK(failure_of([&] { parse_wanted_name(text); }).kind() == ErrorKind::usage);
}

TEST_CASE("frameworks may come in any order, and are printed in one") {
  CHECK(to_string(parse_environment_name("mx1.5.0_tf1.15_cu10.0_py36")) ==
        "tf1.15_mx1.5.0_cu10.0_py36");
}

TEST_CASE("what is no name is refused with its place and what would be right") {
  struct Row {
    const char* text;
    const char* said;
  };
  for (const Row& row : {
           Row{"", "a name is 1 to 200 characters"},
           Row{"tf1.15", "'tf1.15' at character 1 is not followed by cu12.4, cpu or the like"},
           Row{"tf1.15_cu10.0", "'cu10.0' at character 8 is not followed by a Python"},
           Row{"tf1.15_py36", "'py36' at character 8 comes before an accelerator"},
           Row{"tf1.15_cu100_py36", "did you mean cu10.0?"},
           Row{"tf1.15_cu10.0_py3.6", "'py3.6' at character 15 has a dot: did you mean py36?"},
           Row{"tf1.15_cu10.0_py", "write it like py36 or py312"},
           Row{"tf1.15_cu10.0_36", "'36' at character 15 is not a version of Python"},
           Row{"tf1.15_cu10.0_py36_x", "'x' at character 20 comes after Python"},
           Row{"tf_cu10.0_py36", "has no version of TensorFlow: write it like tf2.5.1"},
           Row{"tf1.15_tf2.1_cu10.0_py36", "'tf2.1' at character 8 names TensorFlow a second time"},
           Row{"cu10.0_py36", "has no framework before it"},
           Row{"pt1.4_cu10.0_py36", "'pt1.4' at character 1 is not one of"},
           Row{"tx1.4_cu10.0_py36", "did you mean tf1.4?"},
           Row{"tf1.15__cu10.0_py36", "'' at character 8 is not one of"},
           Row{"tf1..15_cu10.0_py36", "has no version of TensorFlow"},
           Row{"tr2.5_can8.3.RC_py311", "has no version of CANN"},
           Row{"tf1.15_cu10.0_py06", "has no version of Python"},
           Row{"tf1.15_cu10.0;rm -rf_py36", "has no version of CUDA"},
           Row{"aiacct_", "'' at character 8"},
       }) {
    CAPTURE(row.text);
    const Error error = failure_of([&] { parse_environment_name(row.text); });
    CHECK(error.kind() == ErrorKind::usage);
    CAPTURE(error.what());
    CHECK(std::string(error.what()).find(row.said) != std::string::npos);
  }
}

TEST_CASE("a very long or binary name is refused, not echoed") {
  const Error longest = failure_of([] { parse_environment_name(std::string(1000, 'a')); });
  const Error binary = failure_of([] { parse_environment_name("tf1.15_\x1b[2J_py36"); });
  CHECK(std::string(longest.what()).size() < 300);
  CHECK(std::string(binary.what()).find('\x1b') == std::string::npos);
}

TEST_CASE("versions are compared by their numbers") {
  CHECK(compare_versions("1.15", "1.5") > 0);
  CHECK(compare_versions("1.15", "1.15.1") < 0);
  CHECK(compare_versions("535.54.03", "535.129.03") < 0);
  CHECK(compare_versions("08", "8") == 0);
  CHECK(compare_versions("8.3.RC1", "8.3.RC2") < 0);
}

TEST_CASE("a version covers those that begin with it") {
  CHECK(covers("1.15", "1.15.5"));
  CHECK(covers("1.15", "1.15"));
  CHECK_FALSE(covers("1.1", "1.15"));
  CHECK(covers("", ""));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
