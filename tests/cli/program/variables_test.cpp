#include "cli/program/variables.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

#include "base/files.hpp"
#include "cli/program/app.hpp"
#include "cli/program/common_flags.hpp"
#include "cli/program/consent.hpp"
#include "cli/program/parser.hpp"
#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;
using fastgpu::test::failure_of;
using test::Session;
using Words = std::vector<std::string>;

std::string first_fault(const std::string& name, const Words& command = {"get", "cluster"}) {
  for (const CliCommand& candidate : commands())
    if (candidate.verb == command[0] && candidate.noun == command[1]) {
      const auto faults = unknown_variables(std::vector{name}, commands(), candidate);
      return faults.empty() ? "" : faults.front();
    }
  return "no such command";
}

std::string refused(const std::string& name, const std::string& value, const Words& words) {
  Session session;
  session.variables[name] = value;
  const Error e = failure_of([&] { session.run(words); });
  CHECK(e.kind() == ErrorKind::usage);
  return e.what();
}

TEST_SUITE_BEGIN("cli/variables");

TEST_CASE("a variable serves one flag of one command, or flags that are described alike") {
  std::map<std::string, std::pair<std::string, std::string>> seen;  // Its meaning, and where.
  for (const CliCommand& command : commands()) {
    const Arguments arguments = arguments_of(command);
    for (const Argument& argument : arguments.all()) {
      if (argument.positional() || argument.name == "--output") continue;  // Some have a page, too.
      const std::string variable = argument.variable(command.words());
      const std::string meaning = argument.name + "|" + argument.value + "|" + argument.help + "|" +
                                  (argument.repeated ? "list" : "one");
      const auto [found, is_new] = seen.emplace(variable, std::pair(meaning, command.words()));
      CAPTURE(variable);
      CAPTURE(command.words());
      const auto& shown = found;
      CAPTURE(shown->second.second);
      CHECK(found->second.first == meaning);
      CHECK((is_new || argument.shared));
    }
  }
}

TEST_CASE("flags that differ from command to command have variables that differ, too") {
  const auto variable_of = [](const std::string& words, const std::string& flag) {
    for (const CliCommand& command : commands()) {
      const Arguments arguments = arguments_of(command);
      if (command.words() == words) return arguments.find(flag)->variable(words);
    }
    return std::string();
  };
  CHECK(variable_of("create cluster", "--timeout") == "FASTGPU_CREATE_CLUSTER_TIMEOUT");
  CHECK(variable_of("run job", "--timeout") == "FASTGPU_RUN_JOB_TIMEOUT");
  CHECK(variable_of("exec", "--timeout") == "FASTGPU_EXEC_TIMEOUT");
  CHECK(variable_of("create cluster", "--nodes") == "FASTGPU_NODES");
  CHECK(variable_of("scale cluster", "--nodes") == "FASTGPU_SCALE_CLUSTER_NODES");
  CHECK(variable_of("env install-driver", "--dry-run") == "FASTGPU_ENV_INSTALL_DRIVER_DRY_RUN");
  CHECK(variable_of("stop cluster", "--wait") == "FASTGPU_WAIT");
  CHECK(variable_of("exec", "--state-dir") == "FASTGPU_STATE_DIR");
  CHECK(variable_of("env lock", "--cluster") == "FASTGPU_ENV_LOCK_CLUSTER");
  CHECK(variable_of("env create", "--cluster") == "FASTGPU_CLUSTER");
}

TEST_CASE("a variable without a meaning is refused with the one that is meant") {
  CHECK(first_fault("FASTGPU_NODSE") ==
        "the environment variable FASTGPU_NODSE has no meaning, did you mean FASTGPU_NODES?");
  CHECK(first_fault("FASTGPU_SATTE_DIR").ends_with("did you mean FASTGPU_STATE_DIR?"));
  CHECK(first_fault("FASTGPU_PATIENCE") ==
        "the environment variable FASTGPU_PATIENCE has no meaning any more: use FASTGPU_WAIT now");
  CHECK(first_fault("FASTGPU_XYZZY").ends_with("unset it"));
  CHECK(first_fault("FASTGPU_").ends_with("unset it"));
  CHECK(first_fault("FASTGPU_TIMEOUT", {"run", "job"}) ==
        "the environment variable FASTGPU_TIMEOUT has no meaning: the flag's variable is "
        "FASTGPU_RUN_JOB_TIMEOUT");
  CHECK(first_fault("FASTGPU_CREATE_CLUSTER_NODES", {"create", "cluster"})
            .ends_with("the flag's variable is FASTGPU_NODES"));
  for (const char* name : {"FASTGPU_TIMEOUT", "FASTGPU_FILE", "FASTGPU_DETACH", "FASTGPU_DRY_RUN"})
    CHECK(first_fault(name).find("each command has its own variable") != std::string::npos);
  for (const char* name : {"FASTGPU_NODES", "FASTGPU_COMM_SECRET", "FASTGPU_COMM_ANYTHING",
                           "FASTGPU_RANK", "HOME", "FASTGPU_JOB_ID", "FASTGPU_HUAWEI_ENDPOINT_VPC",
                           "FASTGPU_CONNECT_TIMEOUT", "FASTGPU_TEST_SEED", "fastgpu_x"})
    CHECK(first_fault(name).empty());
}

TEST_CASE("a wrong variable stops every command but those that help to find it") {
  CHECK(refused("FASTGPU_NODSE", "3", {"get", "clusters"}).find("FASTGPU_NODES?") !=
        std::string::npos);
  CHECK(refused("FASTGPU_FANOUT", "lots", {"get", "clusters"}).find("FASTGPU_FANOUT") == 0);
  for (const auto& [name, value] : {std::pair{"FASTGPU_NODSE", "3"},
                                    {"FASTGPU_QUIET", "maybe"},
                                    {"FASTGPU_COLOR", "blue"},
                                    {"FASTGPU_YES", "perhaps"}}) {
    const auto& shown = name;
    CAPTURE(shown);
    Session session;
    session.variables[name] = value;
    CHECK(session.run({"version"}) == 0);
    CHECK(session.out.text.find(FASTGPU_VERSION) != std::string::npos);
    CHECK(session.err.text.find(name) != std::string::npos);
    Session completing;
    completing.variables[name] = value;
    CHECK(completing.run({"__complete", "--", "vers"}) == 0);
    CHECK(completing.out.text.starts_with("version"));
    CHECK(completing.err.text.empty());
  }
}

TEST_CASE("exchange rates are looked at by every command, where they come from is named") {
  CHECK(std::string(failure_of([] {
                      Session session;
                      session.variables["FASTGPU_EXCHANGE_RATE"] = "CNY=abc";
                      session.run({"get", "clusters"});
                    }).what()) ==
        "FASTGPU_EXCHANGE_RATE: --exchange-rate 'CNY=abc' is not an exchange rate: write CNY=0.14, "
        "the worth of 1 CNY in USD");
}

TEST_CASE("a job may start fastgpu, whatever its agent has set") {
  Session session;
  for (const char* name : {"FASTGPU_JOB_ID", "FASTGPU_RANK", "FASTGPU_SOMETHING_NEWER"})
    session.variables[name] = "1";
  CHECK(session.run({"get", "clusters"}) == 0);
  CHECK(session.err.text.find("FASTGPU_SOMETHING_NEWER") != std::string::npos);
}

TEST_CASE("a variable of a bare flag is read as a boolean is read in a file") {
  const auto is_set = [](const std::string& text) {
    bool is_given = false;
    Arguments arguments;
    arguments.flag("--fold", "fold", is_given);
    parse_words("exec", Words{}, arguments, [&](const char* name) -> std::optional<std::string> {
      if (std::string_view(name) == "FASTGPU_EXEC_FOLD") return text;
      return std::nullopt;
    });
    return is_given;
  };
  for (const char* text : {"1", "true", "True", "yes", "on", "ON"})
    CHECK(is_set(text));
  for (const char* text : {"", "0", "false", "False", "FALSE", "no", "No", "NO", "off", "Off"})
    CHECK_FALSE(is_set(text));
  for (const char* text : {"n", "none", "disabled", "2", "null", "-"}) {
    CAPTURE(text);
    const Error e = failure_of([&] { is_set(text); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("FASTGPU_EXEC_FOLD") != std::string::npos);
  }
}

TEST_CASE("FASTGPU_YES with a word for no asks, and with another word is refused") {
  for (const char* text : {"off", "False", "FALSE", "No", "NO", "0"}) {
    CAPTURE(text);
    Session session;
    state::Cluster cluster{.id = {"0a1b2c3d"}, .name = {"train"}, .provider = "static"};
    session.context.store().insert_cluster(cluster);
    session.variables["FASTGPU_YES"] = text;
    const Error e = failure_of([&] { session.run({"delete", "cluster", "train"}); });
    CHECK(std::string(e.what()).find("Delete cluster train") == 0);
    CHECK(session.context.store().clusters().size() == 1);
  }
  for (const char* text : {"n", "none", "disabled"})
    CHECK(refused("FASTGPU_YES", text, {"delete", "cluster", "train"}).find("FASTGPU_YES") !=
          std::string::npos);
}

TEST_CASE("the user's own yes, and nothing else's, answers each question") {
  const fastgpu::test::TempDirectory home;
  Session session;
  const auto ask = [&](bool yes) { return consents(session.context, yes, "Go ahead?"); };
  CHECK(ask(true));
  CHECK(failure_of([&] { ask(false); }).kind() == ErrorKind::usage);
  Session agreeing;
  std::ofstream(home.path() / "own.yaml") << "yes: on\n";
  agreeing.variables["FASTGPU_CONFIG"] = home.path() / "own.yaml";
  CHECK(consents(agreeing.context, false, "Go ahead?"));
  Session automated;
  automated.variables["FASTGPU_IN_AUTOMATION"] = "on";
  CHECK(std::string(failure_of([&] { consents(automated.context, false, "Go?"); }).what())
            .find("FASTGPU_IN_AUTOMATION") != std::string::npos);
  automated.variables["FASTGPU_IN_AUTOMATION"] = "perhaps";
  CHECK(failure_of([&] { consents(automated.context, false, "Go?"); }).kind() == ErrorKind::usage);
}

TEST_CASE("a required flag may come from its variable") {
  Session session;
  session.variables["FASTGPU_ENV_LOCK_FILE"] = "/nonexistent/env.yaml";
  CHECK(failure_of([&] { session.run({"env", "lock"}); }).kind() == ErrorKind::not_found);
}

TEST_CASE("every variable that the sources name is known") {
  const auto known = known_variables(commands());
  static const std::regex kName("\"(FASTGPU_[A-Z_]+[A-Z])[\"=]");
  const fs::path root = FASTGPU_SOURCE_ROOT;
  for (const char* folder : {"src", "cli", "provision", "envs", "launcher"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string kind = entry.path().extension();
      if (kind != ".cpp" && kind != ".hpp") continue;
      const std::string source = read_file(entry.path()).value();
      for (std::sregex_iterator at(source.begin(), source.end(), kName), end; at != end; ++at) {
        const std::string name = (*at)[1];
        const bool is_of_tests = name.starts_with("FASTGPU_TEST_");
        if (name.starts_with("FASTGPU_COMM") || name == "FASTGPU_VERSION" || is_of_tests) continue;
        CAPTURE(entry.path().string());
        CHECK_MESSAGE(std::ranges::binary_search(known, name), name);
      }
    }
}

TEST_CASE("only the one place of consent asks a question") {
  const fs::path root = FASTGPU_SOURCE_ROOT;
  for (const auto& entry : fs::recursive_directory_iterator(root / "cli")) {
    if (entry.path().extension() != ".cpp" || entry.path().filename() == "consent.cpp") continue;
    const std::string source = read_file(entry.path()).value();
    CHECK_MESSAGE(source.find(".confirm(") == std::string::npos, entry.path().string());
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
