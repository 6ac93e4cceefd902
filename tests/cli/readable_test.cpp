#include "cli/commands/readable.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace fastgpu::cli {
namespace {

const auto kNow = std::chrono::system_clock::from_time_t(1'772'370'000);  // 2026-03-01T13:00:00Z

TEST_SUITE_BEGIN("cli/readable");

TEST_CASE("fields are shown with their units, as people say them") {
  struct Case {
    Json fields;
    Json shown;
  };
  const std::vector<Case> cases = {
      {{{"max_life_seconds", 7200}, {"idle_stop_seconds", nullptr}},
       {{"max_life", "2h"}, {"idle_stop", "none"}}},
      {{{"timeout_ms", 0}, {"wait_ms", 1500}}, {{"timeout", "none"}, {"wait", "1.5s"}}},
      {{{"cost_so_far", 0.0010531763269672222}, {"price_per_hour", 1.5}, {"currency", "USD"}},
       {{"cost_so_far", "0.0011 USD"}, {"price_per_hour", "1.50 USD"}}},
      {{{"currency", "USD"}, {"cost_so_far", nullptr}},
       {{"currency", "USD"}, {"cost_so_far", nullptr}}},
      {{{"created", "2026-03-01T12:00:00Z"}, {"ends", "2026-03-01T15:00:00Z"}},
       {{"created", "2026-03-01T12:00:00Z (60m ago)"}, {"ends", "2026-03-01T15:00:00Z (in 2h)"}}},
      {{{"argv", {"sh", "-c", "a b"}}}, {{"command", "sh -c 'a b'"}}},
      {{{"network", "{\"image\":\"ami-1\",\"key_pairs\":[]}"}, {"schema", "fastgpu.job/1"}},
       {{"network", {{"image", "ami-1"}, {"key_pairs", Json::array()}}}}},
      {{{"spot", true}, {"detached", false}, {"log_bytes", 2'000'000U}, {"disk_gib", 50}},
       {{"spot", "yes"}, {"detached", "no"}, {"log", "2 MB"}, {"disk", "50 GiB"}}},
      {{{"nodes", Json::array({{{"up_seconds", 60}, {"name", "n-0"}}})}},
       {{"nodes", Json::array({{{"up", "1m"}, {"name", "n-0"}}})}}},
      {{{"currency", "EUR"}, {"max_cost", 5}, {"nodes", Json::array({{{"cost_so_far", 0.5}}})}},
       {{"max_cost", "5.00 EUR"}, {"nodes", Json::array({{{"cost_so_far", "0.50 EUR"}}})}}},
      {{{"max_cost", {{"amount", 50}, {"currency", "CNY"}}}}, {{"max_cost", "50.00 CNY"}}},
      {{{"text", "{not json"}, {"seconds", 3}, {"list", {1, "x"}}},
       {{"text", "{not json"}, {"seconds", 3}, {"list", {1, "x"}}}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.fields.dump());
    CHECK(readable(one.fields, kNow).dump() == one.shown.dump());
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
