#include "cli/program/legacy_syntax.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using Words = std::vector<std::string>;
using fastgpu::test::failure_of;

Words ours(const Words& words, const std::string& file = "") {
  return translate_legacy_command(words, [&](const std::string&) { return file; });
}

TEST_SUITE_BEGIN("cli/original");

TEST_CASE("the original's create is ours") {
  CHECK(ours({"create", "-n", "vm", "-np", "2", "-i", "ecs.gn6v-c8g1.16xlarge", "--spot"}) ==
        Words{"create", "cluster", "vm", "--nodes=2", "--instance-type=ecs.gn6v-c8g1.16xlarge",
              "--spot"});
  CHECK(ours({"create", "--name=vm", "--machines", "1", "--image_type", "Ubuntu",
              "--data_disk_size", "0", "--system_disk_size", "300", "--confirm_cost",
              "--skip_setup", "-vpc", "mine", "--zone_id", "cn-beijing-h"}) ==
        Words{"create", "cluster", "vm", "--nodes=1", "--disk=300", "--yes", "--vpc=mine",
              "--zone=cn-beijing-h"});
}

TEST_CASE("the original's data disk is ours, and its mount takes clusters") {
  CHECK(ours({"create", "-n", "vm", "--data_disk_size", "500"}) ==
        Words{"create", "cluster", "vm", "--data-disk=500"});
  CHECK(ours({"mount", "{demo}", "10.0.0.4:/"}) == Words{"mount", "demo", "10.0.0.4:/"});
  CHECK(failure_of([] { ours({"mount", "task0.demo"}); }).kind() == ErrorKind::usage);
}

TEST_CASE("flags of ours may stand among the original's") {
  CHECK(ours({"create", "-n", "vm", "--region", "cn-beijing", "--dry-run"}) ==
        Words{"create", "cluster", "vm", "--region", "cn-beijing", "--dry-run"});
  CHECK(ours({"create", "cluster", "vm", "-n", "2"}) ==
        Words{"create", "cluster", "vm", "-n", "2"});
  CHECK(ours({"create", "-f", "vm.yaml"}) == Words{"create", "cluster", "-f", "vm.yaml"});
}

TEST_CASE("a create.cfg is read") {
  const std::string file = R"(; a comment
[ncluster]
name=ncluster-v100
machines=1
system_disk_size=300
data_disk_size=0
instance_type=ecs.gn6v-c8g1.16xlarge
spot=False
confirm_cost=True
skip_setup=True
disable_nas=True
zone_id=cn-beijing-h
vpc_name=ncluster-vpc
[cmd]
install_script=pwd
)";
  CHECK(ours({"create", "--config", "create.cfg"}, file) ==
        Words{"create", "cluster", "ncluster-v100", "--nodes=1", "--disk=300",
              "--instance-type=ecs.gn6v-c8g1.16xlarge", "--yes", "--zone=cn-beijing-h",
              "--vpc=ncluster-vpc"});
  CHECK(failure_of([&] {
          ours({"create", "-c", "x"}, "[ncluster]\nmachine=1\n");
        }).kind() == ErrorKind::usage);
  CHECK(failure_of([&] {
          ours({"create", "-c", "x"}, "no ini at all\n");
        }).kind() == ErrorKind::usage);
}

TEST_CASE("a flag wins over the create.cfg, wherever the file is named") {
  const std::string file =
      "[ncluster]\nname=old\nmachines=2\nspot=True\nimage_name=a\ndata_disk_size=500\n";
  CHECK(ours({"create", "-f", "create.cfg", "-np", "3", "-n", "vm"}, file) ==
        Words{"create", "cluster", "vm", "--nodes=3", "--spot", "--image=a", "--data-disk=500"});
  CHECK(ours({"create", "--spot", "--data_disk_size", "0", "--image=b", "-f", "create.cfg"},
             file) == Words{"create", "cluster", "old", "--spot", "--image=b", "--nodes=2"});
  CHECK(ours({"create", "-f", "create.cfg", "--nodes", "3", "--data-disk=7"}, file) ==
        Words{"create", "cluster", "old", "--spot", "--image=a", "--nodes", "3", "--data-disk=7"});
  CHECK(ours({"create", "-np", "1", "-np", "2"}) ==
        Words{"create", "cluster", "--nodes=1", "--nodes=2"});  // This is refused later.
}

TEST_CASE("an empty value of the original is refused, and takes no other word") {
  for (const Words& words :
       {Words{"create", "--name=", "--dry-run"}, Words{"create", "-n=", "vm"},
        Words{"create", "-n", "vm", "--image=", "--dry-run"}, Words{"create", "-n", ""},
        Words{"create", "-n", "vm", "-np=", "4"}, Words{"create", "-n", "-np", "4"},
        Words{"create", "-n", "vm", "--spot=False"}, Words{"create", "--config="}}) {
    CAPTURE(words.back());
    CHECK(failure_of([&] { ours(words); }).kind() == ErrorKind::usage);
  }
  CHECK(ours({"create", "-n=vm", "-np=2"}) == Words{"create", "cluster", "vm", "--nodes=2"});
}

TEST_CASE("a boolean of a create.cfg is read as everywhere, and refused where it is none") {
  const auto spot = [](const std::string& value) {
    return ours({"create", "-c", "x"}, "[ncluster]\nname=vm\nspot=" + value + "\n").size() == 4;
  };
  for (const char* text : {"True", "true", "1", "yes", "on"})
    CHECK(spot(text));
  for (const char* text : {"False", "false", "0", "no", "No", "off", ""})
    CHECK_FALSE(spot(text));
  const Error e = failure_of([&] { spot("none"); });
  CHECK(std::string(e.what()).find("[ncluster] spot: 'none' is not usable") != std::string::npos);
}

TEST_CASE("what the original had and we have not says what to do instead") {
  CHECK(std::string(failure_of([] {
                      ours({"create", "-n", "t", "-cuda"});
                    }).what())
            .find("fastgpu env install-driver") != std::string::npos);
  CHECK(std::string(failure_of([] {
                      ours({"create", "-n", "t", "--nas"});
                    }).what())
            .find("--mount ADDRESS:/EXPORT") != std::string::npos);
  CHECK(failure_of([] { ours({"create", "--image_type", "CentOS"}); }).kind() == ErrorKind::usage);
  CHECK(failure_of([] { ours({"create", "-n"}); }).kind() == ErrorKind::usage);
}

TEST_CASE("machines and groups of the original are nodes and clusters of ours") {
  CHECK(ours({"ssh", "task0.demo"}) == Words{"ssh", "demo/0"});
  CHECK(ours({"tmux", "task1.demo"}) == Words{"tmux", "demo/1"});
  CHECK(ours({"kill", "-f", "{demo}"}) == Words{"kill", "--yes", "demo"});
  CHECK(ours({"stop", "{demo}"}) == Words{"stop", "cluster", "demo"});
  CHECK(ours({"stop", "cluster", "demo"}) == Words{"stop", "cluster", "demo"});
  CHECK(ours({"ls", "-a", "--stop"}) == Words{"ls"});
  CHECK(failure_of([] { ours({"stop", "task0.demo"}); }).kind() == ErrorKind::usage);
}

TEST_CASE("a job is not stopped by the verbs of clusters, and the one that stops it is named") {
  for (const char* verb : {"stop", "kill"}) {
    const Error e = failure_of([verb] { ours({verb, "job", "train-1"}); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).ends_with("fastgpu cancel job train-1 stops a job"));
  }
  CHECK(ours({"stop", "job"}) == Words{"stop", "cluster", "job"});  // A cluster of this name.
}

}  // namespace
}  // namespace fastgpu::cli
