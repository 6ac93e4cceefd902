#include "comm/common/variables.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/contains.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

Error refusal(const std::string& name) {
  return test::failure_of([&] { check_variables(std::vector<std::string>{"PATH", name}); });
}

TEST_SUITE_BEGIN("comm/variables");

TEST_CASE("a variable that there is not is refused with the nearest that there is") {
  CHECK(refusal("FASTGPU_COMM_NANCHEK").kind() == ErrorKind::usage);
  CHECK(test::mentions(refusal("FASTGPU_COMM_NANCHEK"), "did you mean FASTGPU_COMM_NANCHECK?"));
  CHECK(test::mentions(refusal("FASTGPU_COMM_\x1b[2J"), "FASTGPU_COMM_\\x1b"));
}

TEST_CASE("variables of ours and of others are let be") {
  CHECK_NOTHROW(check_variables(std::vector<std::string>{
      "FASTGPU_COMM_WIRE", "FASTGPU_COMM_MASTER_ADDR", "FASTGPU_COMM", "NCCL_DEBUG"}));
}

TEST_CASE("a setting that the library does not read is refused, with the one that is meant") {
  for (const std::string known : {"FASTGPU_COMM_WIRE", "RANK", "MASTER_ADDR", "XDG_CACHE_HOME",
                                  "OMPI_COMM_WORLD_SIZE", "PERSEUS_ALLREDUCE_DTYPE"})
    CHECK_NOTHROW(check_setting(known));
  for (const std::string wrong : {"WIRE", "wire", "fastgpu_comm_wire", "FASTGPU_COMM_WIRES"}) {
    CAPTURE(wrong);
    const Error e = test::failure_of([&] { check_setting(wrong); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(test::mentions(e, wrong + " is no variable of libfastgpu_comm: did you mean "
                                    "FASTGPU_COMM_WIRE?"));
  }
  CHECK(test::mentions(test::failure_of([] { check_setting("PATH"); }), "PATH is no variable"));
}

TEST_CASE("a setting has its effect in the process, in the job, or in an exchange of it") {
  for (const std::string name : {"FASTGPU_COMM_SIMD", "FASTGPU_COMM_LIBRARY"})
    CHECK(place_of_setting(name) == SettingPlace::process);
  for (const std::string name : {"FASTGPU_COMM_TIMEOUT", "FASTGPU_COMM_ALGORITHM", "RANK"})
    CHECK(place_of_setting(name) == SettingPlace::job);
  for (const std::string name : {"FASTGPU_COMM_WIRE", "FASTGPU_COMM_TOPOLOGY", "HOME",
                                 "FASTGPU_COMM_MULTISTEP", "PERSEUS_ALLREDUCE_DTYPE"})
    CHECK(place_of_setting(name) == SettingPlace::exchange);
}

TEST_CASE("a setting of an exchange has an effect on some kinds of them") {
  using enum ExchangeKind;
  for (const std::string name : {"FASTGPU_COMM_WIRE", "FASTGPU_COMM_COUNTERS"})
    for (const ExchangeKind kind : {gradients, gossip, multistep})
      CHECK(has_effect_on(kind, name));
  for (const std::string name : {"FASTGPU_COMM_FUSION", "PERSEUS_ALLREDUCE_DTYPE", "HOME"}) {
    CHECK(has_effect_on(gradients, name));
    CHECK(has_effect_on(multistep, name));
    CHECK(!has_effect_on(gossip, name));
  }
  CHECK(has_effect_on(gossip, "FASTGPU_COMM_GUARD"));
  CHECK(!has_effect_on(gradients, "FASTGPU_COMM_GUARD"));
  CHECK(has_effect_on(multistep, "FASTGPU_COMM_MULTISTEP"));
  CHECK(!has_effect_on(gradients, "FASTGPU_COMM_MULTISTEP"));
  CHECK(!has_effect_on(multistep, "FASTGPU_COMM_NCCL"));
  CHECK(!has_effect_on(gradients, "FASTGPU_COMM_TIMEOUT"));  // One of the job.
}

TEST_CASE("a setting that asks for what an exchange does not do is refused there") {
  using enum ExchangeKind;
  const auto check = [](ExchangeKind kind, const std::string& name, const std::string& value) {
    check_wishes(kind, [&](const std::string& asked) {
      return asked == name ? std::optional(value) : std::nullopt;
    });
  };
  const auto refusal = [&](ExchangeKind kind, const std::string& name, const std::string& value) {
    return test::failure_of([&] { check(kind, name, value); });
  };
  const std::string mode = "FASTGPU_COMM_MULTISTEP";
  CHECK_NOTHROW(check(multistep, mode, "local_steps=4"));
  for (const ExchangeKind kind : {gradients, gossip}) {
    const Error e = refusal(kind, mode, "local_steps=4");
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(test::mentions(e, mode + " has no effect on " + std::string(name_of(kind))));
    CHECK(test::mentions(e, "MultistepOptimizer"));
  }
  CHECK_NOTHROW(check(gossip, "FASTGPU_COMM_TOPOLOGY", "ring"));
  for (const ExchangeKind kind : {gradients, multistep})
    CHECK(test::mentions(refusal(kind, "FASTGPU_COMM_TOPOLOGY", "ring"), "GossipOptimizer"));
  CHECK_NOTHROW(check(gradients, "FASTGPU_COMM_NANCHECK", "stop"));
  CHECK_NOTHROW(check(gossip, "FASTGPU_COMM_NANCHECK", "off"));
  CHECK(test::mentions(refusal(gossip, "FASTGPU_COMM_NANCHECK", "stop"), "no effect on gossip"));
}

TEST_CASE("the topology of gossip may stay where exact averages are compared with it") {
  const auto environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "FASTGPU_COMM_TOPOLOGY") return "ring";
    if (name == "FASTGPU_COMM_EXCHANGE") return "all_reduce";
    return std::nullopt;
  };
  CHECK_NOTHROW(check_wishes(ExchangeKind::gradients, environment));
}

TEST_CASE("the process's variables are found by name") {
  ::setenv("FASTGPU_OF_THIS_TEST", "a=b", 1);
  const auto names = process_variables();
  CHECK(contains(names, "FASTGPU_OF_THIS_TEST"));
}

}  // namespace
}  // namespace fastgpu::comm
