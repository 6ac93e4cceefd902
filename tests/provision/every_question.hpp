// All that a cloud is asked, each answered with the same text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "provision/api_tools.hpp"
#include "provision/cloud/cloud.hpp"

namespace fastgpu::test {

/// How many questions there are.
constexpr int kQuestions = 22;

/// How many of the questions ended with an Error. `make_cloud` gets the ApiTools of each and gives
/// a std::unique_ptr<Cloud>.
template <class MakeCloud>
int ask_everything(const http::Response& answer, MakeCloud make_cloud) {
  namespace cloud = provision::cloud;
  const Cancel never;
  const std::vector<std::string> ids = {"i-1", "i-2"};
  int errors = 0;
  const auto attempt = [&](const auto& question) {
    SameAnswer http(answer);
    Unheard observer;
    const std::unique_ptr<cloud::Cloud> asked = make_cloud(tools_over(http, observer));
    try {
      question(*asked);
    } catch (const Error&) {
      ++errors;
    }
  };
  const cloud::Launch launch{.marks = {{"c"}, "demo", "o"},
                             .site = {"r", "ra"},
                             .type = "p2s.2xlarge.8",
                             .token = std::string(32, 'a')};
  const cloud::NetworkRequest network{
      .marks = launch.marks, .site = launch.site, .ssh_from = {IpRange::parse("192.0.2.1/32")}};
  attempt([&](auto& c) { c.account(never); });
  attempt([&](auto& c) { c.regions(never); });
  attempt([&](auto& c) { c.offers("r", {.gpu = "V100", .gpus = 1}, never); });
  attempt([&](auto& c) { c.offers("r", {.gpu = "V100", .market = cloud::Market::spot}, never); });
  attempt([&](auto& c) { c.images("r", "", "p2s.2xlarge.8", never); });
  attempt([&](auto& c) { c.quotas("r", never); });
  attempt([&](auto& c) { c.public_key("r", "k", never); });
  attempt([&](auto& c) { c.check_network(launch.site, "lab", never); });
  attempt([&](auto& c) { c.make_network(network, never); });
  attempt([&](auto& c) { c.remove_network("r", {"c"}, {}); });
  attempt([&](auto& c) { c.launch(launch, never); });
  attempt([&](auto& c) {
    const auto failure = c.try_launch({.site = launch.site, .type = launch.type}, never);
    if (failure) throw cloud::error_of(*failure, "trying");
  });
  attempt([&](auto& c) { c.machines("r", {"c"}, never); });
  attempt([&](auto& c) { c.start("r", ids, never); });
  attempt([&](auto& c) { c.stop("r", ids, never); });
  attempt([&](auto& c) { c.terminate("r", ids); });
  attempt([&](auto& c) { c.release_at("r", ids, std::chrono::system_clock::now(), never); });
  attempt([&](auto& c) { c.tag("r", ids, {.owner = "o"}, never); });
  attempt([&](auto& c) { c.parts("r", never); });
  attempt([&](auto& c) { c.own_images("r", never); });
  attempt([&](auto& c) { c.make_image({.region = "r", .machine = "i-1", .name = "n"}, never); });
  attempt([&](auto& c) { c.remove_image("r", {.image = {.id = "m-1"}}); });
  return errors;
}

}  // namespace fastgpu::test
