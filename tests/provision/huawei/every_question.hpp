// All that a cloud is asked, each answered with the same text.
#pragma once

#include <string>
#include <vector>

#include "provision/api_tools.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"

namespace fastgpu::provision::huawei {

/// How many of the questions ended with an Error.
inline int ask_everything(const http::Response& answer) {
  test::SameAnswer http(answer);
  test::Unheard observer;
  HuaweiCloud cloud(test::tools_over(http, observer), "");
  const Cancel never;
  const std::vector<std::string> ids = {"i-1", "i-2"};
  int errors = 0;
  const auto attempt = [&](const auto& question) {
    try {
      question();
    } catch (const Error&) {
      ++errors;
    }
  };
  const cloud::Launch launch{.marks = {{"c"}, "demo", "o"},
                             .site = {"r", "ra"},
                             .type = "p2s.2xlarge.8",
                             .token = std::string(32, 'a')};
  attempt([&] { cloud.account(never); });
  attempt([&] { cloud.regions(never); });
  attempt([&] { cloud.offers("r", {.gpu = "V100", .gpus = 1}, never); });
  attempt([&] { cloud.offers("r", {.gpu = "V100", .market = cloud::Market::spot}, never); });
  attempt([&] { cloud.images("r", "", "p2s.2xlarge.8", never); });
  attempt([&] { cloud.quotas("r", never); });
  attempt([&] { cloud.public_key("r", "k", never); });
  attempt([&] { cloud.make_network({.marks = launch.marks, .site = launch.site}, never); });
  attempt([&] { cloud.remove_network("r", {"c"}); });
  attempt([&] { cloud.launch(launch, never); });
  attempt([&] { cloud.machines("r", {"c"}, never); });
  attempt([&] { cloud.start("r", ids, never); });
  attempt([&] { cloud.stop("r", ids, never); });
  attempt([&] { cloud.terminate("r", ids); });
  attempt([&] { cloud.release_at("r", ids, std::chrono::system_clock::now(), never); });
  attempt([&] { cloud.parts("r", never); });
  attempt([&] { cloud.own_images("r", never); });
  attempt([&] { cloud.make_image({.region = "r", .machine = "i-1", .name = "n"}, never); });
  attempt([&] { cloud.remove_image("r", {.image = {.id = "m-1"}}); });
  return errors;
}

}  // namespace fastgpu::provision::huawei
