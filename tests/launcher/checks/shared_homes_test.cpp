#include "launcher/checks/shared_homes.hpp"

#include <doctest/doctest.h>

namespace fastgpu::launcher {
namespace {

CheckedNode node_with(const std::string& name, const std::string& boot, HomeDirectory home) {
  home.path = "/home/ann";
  CheckedNode node{.name = {name}};
  NodeHealth state;
  state.boot_id = boot;
  state.home = std::move(home);
  node.state = state;
  return node;
}

TEST_SUITE_BEGIN("launcher/checks/shared_homes");

TEST_CASE("nodes that mount one directory of a file server share it, whatever their device is") {
  const HomeDirectory served{.device = "44", .inode = "7", .type = "nfs", .source = "nas:/home"};
  HomeDirectory elsewhere = served;
  elsewhere.device = "51";
  HomeDirectory of_another = served;
  of_another.inode = "8";
  const std::vector<CheckedNode> nodes = {
      node_with("a", "1", served), node_with("b", "2", elsewhere), node_with("c", "3", of_another)};
  const auto found = shared_home_findings(nodes);
  REQUIRE(found.size() == 1);
  CHECK(found[0].check == "home");
  CHECK(found[0].severity == Severity::warning);
  CHECK(found[0].nodes == std::vector<std::string>{"a", "b"});
  CHECK(found[0].found == "they share the home directory /home/ann");
}

TEST_CASE("machines made from one image have equal numbers, and homes of their own") {
  const HomeDirectory disk{.device = "259", .inode = "2", .type = "xfs", .source = "/dev/sda1"};
  CHECK(shared_home_findings(std::vector{node_with("a", "1", disk), node_with("b", "2", disk)})
            .empty());
}

TEST_CASE("nodes on one machine share a home directory if its device and its inode are equal") {
  const HomeDirectory disk{.device = "259", .inode = "2", .type = "xfs", .source = "/dev/sda1"};
  HomeDirectory layer = disk;
  layer.device = "60";
  CHECK(shared_home_findings(std::vector{node_with("a", "1", disk), node_with("b", "1", disk)})
            .size() == 1);
  CHECK(shared_home_findings(std::vector{node_with("a", "1", disk), node_with("b", "1", layer)})
            .empty());
}

TEST_CASE("without the numbers of a home directory, nothing is said about it") {
  CHECK(
      shared_home_findings(std::vector{node_with("a", "1", {}), node_with("b", "1", {})}).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
