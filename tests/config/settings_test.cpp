#include "config/settings.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::config {
namespace {

using test::failure_of;

auto environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

Layers all_layers() {
  return {.environment = environment({{"FASTGPU_FANOUT", "2"}, {"FASTGPU_USER", "ada"}}),
          .project = Document::parse("fanout: 3\nslots: 4\n", "fastgpu.yaml"),
          .user = Document::parse("slots: 5\nuser: eve\nconnect-timeout: 3s\n", "config.yaml")};
}

TEST_SUITE_BEGIN("config/settings");

TEST_CASE("the environment beats the project, the user and the default, in that order") {
  const Settings settings(all_layers());
  CHECK(settings.integer("fanout", 1, 99) == 2);
  CHECK(settings.find("fanout").where == "FASTGPU_FANOUT");
  CHECK(settings.text("user") == "ada");
  CHECK(settings.find("user").where == "FASTGPU_USER");
  CHECK(settings.integer("slots", 1, 99) == 4);
  CHECK(settings.find("slots").where == "fastgpu.yaml:2:8");
  CHECK(settings.duration("connect-timeout") == std::chrono::seconds(3));
  CHECK(settings.find("connect-timeout").origin == Origin::user_file);
  CHECK(settings.text("provider") == "local");
  CHECK(settings.find("provider").origin == Origin::built_in);
}

TEST_CASE("every setting has a default that can be read") {
  const Settings settings(Layers{});
  for (const SettingInfo& info : setting_table())
    CHECK(settings.text(info.key) == info.fallback);
  CHECK_FALSE(settings.boolean("yes"));
  CHECK(settings.duration("wait") == std::chrono::seconds(10));
}

TEST_CASE("a wrong value is refused when it is taken in, and says where it comes from") {
  const auto fault = [](const Layers& layers) {
    return std::string(failure_of([&] { Settings{layers}; }).what());
  };
  CHECK(fault({.environment = environment({{"FASTGPU_FANOUT", "lots"}})}) ==
        "FASTGPU_FANOUT: 'fanout' must be a whole number from 1 to 1024, not 'lots'");
  CHECK(fault({.user = Document::parse("output: csv\n", "config.yaml")}) ==
        "config.yaml:1:9: 'output': 'csv' is not one of table, wide, json, yaml, name");
  CHECK(fault({.user = Document::parse("wait: 5\n", "config.yaml")})
            .starts_with("config.yaml:1:7: 'wait': '5' lacks its unit"));
  CHECK(fault({.user = Document::parse("patience: 5s\n", "config.yaml")}) ==
        "config.yaml:1:11: 'patience': the setting is called 'wait' now");
  CHECK(fault({.user = Document::parse("provider: awz\n", "config.yaml"),
               .providers = {"local", "aws"}})
            .find("did you mean aws?") != std::string::npos);
  CHECK(fault({.user = Document::parse("fanuot: 3\n", "config.yaml")}) ==
        "config.yaml:1:1: unknown field 'fanuot', did you mean 'fanout'?");
  CHECK(fault({.user = Document::parse("cluster: ''\n", "config.yaml")}).find("is empty") !=
        std::string::npos);
}

TEST_CASE("a boolean is the same in a variable and in a file") {
  for (const auto& [text, wanted] : {std::pair{"1", true},
                                     {"on", true},
                                     {"Yes", true},
                                     {"off", false},
                                     {"0", false},
                                     {"FALSE", false}}) {
    const auto& shown = text;
    CAPTURE(shown);
    CHECK(Settings({.environment = environment({{"FASTGPU_YES", text}})}).boolean("yes") == wanted);
    CHECK(Settings({.user = Document::parse(std::string("yes: ") + text, "config.yaml")})
              .boolean("yes") == wanted);
  }
}

TEST_CASE("the user's own groups go before those of a project, and none hides a built-in one") {
  const Settings settings(
      {.project = Document::parse("groups:\n  io: n[1-2]\n  train: n3\n", "fastgpu.yaml"),
       .user = Document::parse("groups:\n  io: n9\n", "config.yaml")});
  CHECK(settings.group("io") == "n9");
  CHECK(settings.group("train") == "n3");
  CHECK_FALSE(settings.group("none"));
  CHECK(failure_of([] {
          Settings({.user = Document::parse("groups:\n  workers: n9\n", "config.yaml")});
        }).kind() == ErrorKind::usage);
}

TEST_CASE("an empty variable counts as unset, and a missing file as empty") {
  const test::TempDirectory temp;
  Layers layers;
  layers.environment = environment({{"FASTGPU_USER", ""}});
  CHECK(Settings(layers).text("user") == "root");
  layers = read_layers(temp.path() / "fastgpu.yaml",
                       environment({{"XDG_CONFIG_HOME", temp.path().string()}}), {});
  CHECK(layers.warnings.empty());
  CHECK(Settings(layers).text("user") == "root");
}

TEST_CASE("the user's file lies where XDG says") {
  CHECK(user_file(environment({{"XDG_CONFIG_HOME", "/x"}})) == "/x/fastgpu/config.yaml");
  CHECK(user_file(environment({{"HOME", "/h"}})) == "/h/.config/fastgpu/config.yaml");
  CHECK_FALSE(user_file(environment({})));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::config
