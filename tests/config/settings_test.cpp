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
  return {.flags = {{"fanout", "1"}},
          .environment = environment({{"FASTGPU_FANOUT", "2"}, {"FASTGPU_USER", "ada"}}),
          .project = Document::parse("fanout: 3\nuser: eve\nslots: 4\n", "fastgpu.yaml"),
          .user = Document::parse("slots: 5\nconnect-timeout: 3s\n", "config.yaml")};
}

TEST_SUITE_BEGIN("config/settings");

TEST_CASE("a flag beats the environment, the project, the user and the default, in that order") {
  const Settings settings(all_layers());
  CHECK(settings.integer("fanout", 1, 99) == 1);
  CHECK(settings.find("fanout").where == "--fanout");
  CHECK(settings.text("user") == "ada");
  CHECK(settings.find("user").where == "FASTGPU_USER");
  CHECK(settings.integer("slots", 1, 99) == 4);
  CHECK(settings.find("slots").where == "fastgpu.yaml:3:8");
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
  CHECK(settings.duration("patience") == std::chrono::seconds(10));
}

TEST_CASE("a wrong value says where it comes from") {
  Layers layers;
  layers.environment = environment({{"FASTGPU_FANOUT", "lots"}, {"FASTGPU_YES", "1"}});
  const Settings settings(layers);
  CHECK(std::string(failure_of([&] { settings.integer("fanout", 1, 512); }).what()) ==
        "FASTGPU_FANOUT: 'fanout' must be a whole number from 1 to 512, not 'lots'");
  CHECK(settings.boolean("yes"));
}

TEST_CASE("a field that is no setting is refused with the nearest") {
  Layers layers;
  layers.project = Document::parse("fanuot: 3\n", "fastgpu.yaml");
  CHECK(std::string(failure_of([&] { Settings{layers}; }).what()) ==
        "fastgpu.yaml:1:1: unknown field 'fanuot', did you mean 'fanout'?");
}

TEST_CASE("an empty variable counts as unset, and a missing file as empty") {
  const test::TempDirectory temp;
  Layers layers;
  layers.environment = environment({{"FASTGPU_USER", ""}});
  layers.user = read_if_there(temp.path() / "config.yaml");
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
