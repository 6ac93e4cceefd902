#include "comm/multistep/multistep_settings.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("comm/multistep");

TEST_CASE("a mode is read with its number, its options and their defaults") {
  CHECK(multistep_settings("accumulate=4") ==
        MultistepSettings{.mode = MultistepMode::accumulate, .steps = 4});
  CHECK(multistep_settings("local_steps=8,warmup=1000") ==
        MultistepSettings{.mode = MultistepMode::local_steps, .steps = 8, .warmup = 1000});
  CHECK(
      multistep_settings("diloco=500") ==
      MultistepSettings{.mode = MultistepMode::diloco, .steps = 500, .rate = 0.7, .momentum = 0.9});
  CHECK(multistep_settings("diloco=2,momentum=0.5,rate=1,warmup=3") ==
        MultistepSettings{
            .mode = MultistepMode::diloco, .steps = 2, .warmup = 3, .rate = 1, .momentum = 0.5});
  CHECK(multistep_settings("delay=1") == MultistepSettings{.mode = MultistepMode::delay});
  CHECK(multistep_settings("slices=3") ==
        MultistepSettings{.mode = MultistepMode::slices, .steps = 3});
}

TEST_CASE("the text of settings is read to the same settings") {
  for (const char* text : {"accumulate=4", "local_steps=8,warmup=7", "delay=1",
                           "diloco=500,rate=0.7,momentum=0.9", "slices=8,rate=0.125"}) {
    const MultistepSettings settings = multistep_settings(text);
    CHECK(multistep_settings(to_string(settings)) == settings);
  }
  CHECK(to_string(multistep_settings("diloco=500")) == "diloco=500,warmup=0,rate=0.7,momentum=0.9");
}

TEST_CASE("what is wrong in a mode is named") {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "one of accumulate=NUMBER"},
      {"local=8", "one of accumulate=NUMBER"},
      {"accumulate", "needs a number from 1 to 1000000"},
      {"accumulate=0", "needs a number from 1 to 1000000"},
      {"accumulate=4x", "needs a number from 1 to 1000000"},
      {"slices=257", "needs a number from 1 to 256"},
      {"delay=2", "delay=1 is the only delay"},
      {"accumulate=4,warmup=3", "'warmup' is no option of accumulate, which has none"},
      {"local_steps=4,rate=1", "'rate' is no option of local_steps, which has warmup"},
      {"diloco=4,rate=-1", "rate is a number above 0"},
      {"diloco=4,rate=nan", "rate is a number above 0"},
      {"diloco=4,momentum=1", "momentum is a number from 0, below 1"},
      {"diloco=4,", "'' is no option of diloco, which has warmup, rate, momentum"},
      {"local_steps=4,warmup=soon", "warmup is a number of steps"},
      {"diloco=10,rate=1,rate=2", "'rate' is given twice"},
      {"diloco=10,momentum=0.5,rate=1,momentum=0.5", "'momentum' is given twice"},
      {"local_steps=4,warmup=3,warmup=9", "'warmup' is given twice"},
  };
  for (const auto& [text, words] : cases) {
    const Error error = failure_of([&, mode = text] { multistep_settings(mode); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK_MESSAGE(std::string(error.what()).find(words) != std::string::npos, error.what());
  }
}

TEST_CASE("rounds have one step in the warm-up, and slices take turns") {
  const MultistepSettings local = multistep_settings("local_steps=8,warmup=3");
  CHECK(steps_of_round(local, 2) == 1);
  CHECK(steps_of_round(local, 3) == 8);
  CHECK(steps_since_average(local, 3) == 8);
  const MultistepSettings slices = multistep_settings("slices=3");
  CHECK(steps_of_round(slices, 7) == 1);
  CHECK(slice_of_round(slices, 7) == 1);
  CHECK(steps_since_average(slices, 0) == 1);
  CHECK(steps_since_average(slices, 1) == 2);
  CHECK(steps_since_average(slices, 7) == 3);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
