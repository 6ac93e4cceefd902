#include "cli/program/app.hpp"

#include <doctest/doctest.h>

#include <set>

#include "base/join.hpp"
#include "cli/program/command_search.hpp"
#include "cli/program/common_flags.hpp"
#include "cli/program/parser.hpp"
#include "cli/workflows/lookup.hpp"
#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using test::put_cluster;
using test::Session;
using Words = std::vector<std::string>;

TEST_SUITE_BEGIN("cli/app");

TEST_CASE("what the user must change is a usage error that says how") {
  struct Case {
    Words words;
    std::string said;
  };
  const std::vector<Case> cases = {
      {{"creat", "cluster", "x"}, "did you mean create"},
      {{"get", "clustrs"}, "get clusters"},
      {{"get"}, "get clusters"},
      {{"delete", "demo"}, "fastgpu delete cluster demo"},
      {{"create", "cluster", "x", "--nodse", "2"}, "--nodes"},
      {{"create", "cluster", "x", "--nodes", "0"}, "'0'"},
      {{"create", "cluster", "x", "--link-rate", "fast"}, "--link-rate 'fast'"},
      {{"create", "cluster", "x", "--data-disk", "5TBB"}, "--data-disk '5TBB'"},
      {{"create", "cluster", "x", "--mount", "nowhere"}, "--mount 'nowhere'"},
      {{"get", "prices", "--gpus", "A100:x"}, "--gpus 'A100:x'"},
      {{"cp", "a", "b:c", "--limit-rate", "fast"}, "--limit-rate 'fast'"},
      {{"create", "cluster", "x", "--nodes", "-1"}, "'-1'"},
      {{"create", "cluster", "x", "--nodes", "99999999999999999999"}, "'99999999999999999999'"},
      {{"create", "cluster", "x", "--nodes"}, "needs a value"},
      {{"create", "cluster", "x", "--nodes", "2", "--nodes", "3"}, "twice"},
      {{"create", "cluster", "x", "--yes=1"}, "takes no value"},
      {{"create", "cluster", "x", "--provider", "locl"}, "local"},
      {{"create", "cluster", "x", "--link-rate", "fast"}, "1gbit"},
      {{"create", "cluster", "a/b"}, "'a/b'"},
      {{"create", "cluster", "a\nb"}, "'a\\nb'"},
      {{"create", "cluster", std::string(300, 'a')}, "1 to 40"},
      {{"create", "cluster"}, "NAME is missing"},
      {{"create", "cluster", "x", "y"}, "unexpected 'y'"},
      {{"get", "clusters", "-o", "jsn"}, "json"},
      {{"get", "clusters", "-o", "a/list.json"}, "name: use -o json > a/list.json"},
      {{"report", "x", "-o", "my report.json"}, "html: use -o json > 'my report.json'"},
      {{"bench", "comm", "x", "-o", "x.html"}, "html: use -o html > x.html"},
      {{"-o"}, "no command"},
      {{"get", "-o", "json"}, "fastgpu get clusters"},
      {{"jobs"}, "did you mean fastgpu get jobs?"},
      {{"job", "run", "--", "x"}, "did you mean fastgpu run job?"},
      {{"ps"}, "did you mean fastgpu get jobs?"},
      {{"squeue"}, "did you mean fastgpu get jobs?"},
      {{"sbatch", "x.sh"}, "did you mean fastgpu run job --detach?"},
      {{"torchrun", "x.py"}, "did you mean fastgpu run job --launcher torchrun?"},
      {{"clusters", "create"}, "did you mean fastgpu create cluster?"},
      {{"create", "cluster", "x", "--state-dir=", "--dry-run"}, "--state-dir is empty"},
      {{"create", "cluster", "x", "--nodes=", "--dry-run"}, "--nodes is empty"},
      {{"create", "cluster", "x", "--ssh-from=", "--yes", "--dry-run"}, "--ssh-from is empty"},
      {{"create", "cluster", "x", "--ssh-from", "--dry-run"}, "is the flag --dry-run"},
      {{"create", "cluster", "x", "-f", ""}, "-f is empty"},
      {{"create", "cluster", "x", "-f=", "y"}, "-f is empty"},
      {{"create", "cluster", ""}, "NAME is empty"},
      {{"get", "nodes", ""}, "NAME is empty"},
      {{"--state-dir=", "get", "clusters"}, "--state-dir is empty"},
      {{"-o=", "get", "clusters"}, "-o is empty"},
      {{"run", "job", "-np=", "4", "--", "true"}, "-np is empty"},
      {{"create", "cluster", "x", "--max-life", "8"}, "lacks its unit"},
      {{"create", "cluster", "x", "--timeout", "5"}, "lacks its unit"},
      {{"create", "cluster", "x", "--link-rate", "1gbit", "--provider", "static"}, "local only"},
      {{"create", "cluster", "x", "--accept-host-keys"}, "static only"},
      {{"exec", "x", "-e", "A B=1", "--", "true"}, "'A B' is not a variable name"},
      {{"exec", "x", "-e", "=1", "--", "true"}, "'' is not a variable name"},
      {{"exec", "x", "--env=A", "--", "true"}, "A is not set on this machine"},
      {{"tmux", "demo", "--session", "a.b"}, "session name 'a.b'"},
      {{"tmux", "demo", "--list", "--detach"}, "--list starts no session"},
  };
  for (const Case& one : cases) {
    Session session;
    CAPTURE(one.said);
    const Error e = failure_of([&] { session.run(one.words); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find(one.said) != std::string::npos);
  }
}

TEST_CASE("a cluster that is not there is not found, with the nearest name") {
  Session session;
  put_cluster(session, "train", 1);
  const Error e = failure_of([&] { session.run({"describe", "cluster", "trian"}); });
  CHECK(e.kind() == ErrorKind::not_found);
  CHECK(std::string(e.what()).find("did you mean train?") != std::string::npos);
}

TEST_CASE("nodes are named as they are shown") {
  Session session;
  put_cluster(session, "train", 3);
  const auto nodes = [&](const std::string& target) {
    session.out.text.clear();
    session.run({"get", "nodes", target, "-o", "name"});
    return session.out.text;
  };
  CHECK(nodes("train-1") == "train-1\n");
  CHECK(nodes("train/1") == "train-1\n");
  CHECK(nodes("train-[0-1]") == "train-0\ntrain-1\n");
  CHECK(nodes("train/!0") == "train-1\ntrain-2\n");
  CHECK(nodes("train") == "train-0\ntrain-1\ntrain-2\n");
  CHECK(failure_of([&] { nodes("train-7"); }).kind() == ErrorKind::not_found);
  CHECK(std::string(failure_of([&] {
                      session.run({"delete", "cluster", "train-0", "-y"});
                    }).what()) == "there is no cluster 'train-0': that is a node of cluster train");
}

TEST_CASE("the word for a node and for a cluster is the cluster's; two owners are told apart") {
  Session session;
  const state::Cluster cluster = put_cluster(session, "train", 1);
  state::Cluster other{.id = {"0a1b2c3e"}, .name = {"train-0"}, .provider = "static"};
  other.state = state::ClusterState::running;
  session.context.store().insert_cluster(other);
  CHECK(find_target(session.context, "train-0").cluster == "train-0");
  CHECK(find_target(session.context, "train-0").node_set.empty());
  state::Node twin{.cluster = other.id, .index = 0, .name = {"n9"}};
  session.context.store().put_node(twin);
  twin.cluster = cluster.id;
  twin.index = 7;
  session.context.store().put_node(twin);
  CHECK(failure_of([&] { find_target(session.context, "n9"); }).kind() == ErrorKind::usage);
}

TEST_CASE("deleting asks, and without a terminal names --yes") {
  Session session;
  put_cluster(session, "train", 2);
  const Error e = failure_of([&] { session.run({"delete", "cluster", "train"}); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).find("Delete cluster train (2 nodes)?") == 0);
}

TEST_CASE("every JSON root is an object with its schema") {
  for (const Words& words : std::vector<Words>{{"get", "clusters"},
                                               {"get", "nodes"},
                                               {"get", "jobs"},
                                               {"get", "providers"},
                                               {"version"},
                                               {"-o", "json", "version"}}) {
    Session session;
    Words line = words;
    if (line.front() != "-o") line.insert(line.end(), {"-o", "json"});
    session.run(line);
    const Json root = Json::parse(session.out.text);
    CHECK(root.is_object());
    CHECK(root.at("schema").get<std::string>().starts_with("fastgpu."));
  }
}

TEST_CASE("the fields of what is described keep their names and their order in JSON") {
  Session session;
  put_cluster(session, "train", 1);
  const auto keys_of = [&](const Words& words) {
    session.out.text.clear();
    session.run(words);
    std::string keys;
    const Json root = Json::parse(session.out.text);
    for (const auto& [key, value] : root.items())
      append_item(keys, key, " ");
    return keys;
  };
  CHECK(keys_of({"describe", "cluster", "train", "-o", "json"}) ==
        "schema name id provider state slots user network created spec machine price_per_hour "
        "currency cost_so_far guards ends ends_because ended_because owner taken_back nodes "
        "open_intents");
  CHECK(keys_of({"describe", "node", "train-0", "-o", "json"}) ==
        "schema name index state address port private_address user slots instance host_keys "
        "cluster type region zone gpus market price_per_hour currency unreachable_since "
        "unreachable_reason rdma_ports rdma_obstacle "
        "gpu_devices nvlinks jobs");
}

TEST_CASE("a machine that was given up and may still appear is no step that gc has to finish") {
  Session session;
  const state::Cluster cluster = put_cluster(session, "train", 1);
  session.context.store().open_intent({.id = {},
                                       .cluster = cluster.id,
                                       .action = std::string(state::kLateMachine),
                                       .subject = "train-3",
                                       .token = {},
                                       .detail = state::NodeIndex{3}});
  session.run({"describe", "cluster", "train", "-o", "json"});
  CHECK(Json::parse(session.out.text).at("open_intents") == 0);
  session.out.text.clear();
  session.run({"describe", "cluster", "train"});
  CHECK(session.out.text.find("Given up:  1 machine that the cloud may still list") !=
        std::string::npos);
  CHECK(session.out.text.find("Unfinished") == std::string::npos);
}

TEST_CASE("a flag comes from the command line first, then from the environment") {
  Session session;
  session.variables["FASTGPU_OUTPUT"] = "json";
  session.run({"version"});
  CHECK(session.out.text.starts_with("{"));
  session.out.text.clear();
  session.run({"version", "-o", "name"});
  CHECK(session.out.text == FASTGPU_VERSION "\n");
  session.variables["FASTGPU_FILE"] = "x";
  CHECK(failure_of([&] { session.run({"create", "cluster", "x"}); }).kind() == ErrorKind::usage);
  session.variables.erase("FASTGPU_FILE");
  session.variables["FASTGPU_NODES"] = "abc";
  const Error e = failure_of([&] { session.run({"create", "cluster", "x"}); });
  CHECK(std::string(e.what()).find("FASTGPU_NODES") != std::string::npos);
}

TEST_CASE("logs have no names, and refuse to print them") {
  Session session;
  for (const std::string from : {"flag", "variable"}) {
    std::vector<std::string> words = {"logs", "train-1"};
    if (from == "flag") words.insert(words.end(), {"-o", "name"});
    if (from == "variable") session.variables["FASTGPU_OUTPUT"] = "name";
    const Error e = failure_of([&] { session.run(words); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("name") != std::string::npos);
  }
}

TEST_CASE("the command that follows init quotes the file") {
  Session session;
  const std::string path = (session.directory.path() / "my job.yaml").string();
  CHECK(session.run({"init", "job", "--file", path}) == 0);
  CHECK(session.err.text.find("fastgpu run job -f '" + path + "'") != std::string::npos);
}

TEST_CASE("values and words that stand alone arrive as they are, whatever they look like") {
  std::string value;
  std::vector<std::string> several;
  Words words;
  Arguments arguments;
  arguments.list("PATH", "", "paths", words);
  arguments.text("--file", "F", "a file", value).letter = "-f";
  arguments.list("--env", "K=V", "variables", several).letter = "-e";
  const state::Environment none = [](const char*) { return std::nullopt; };
  const Words line = {"[a,b]", "-f",     "-",   "-e", "A=[1,2]", "--env",   "B=",
                      "-e",    "-C=x y", "ü;$", "-e", "[x,y]",   "--env={}"};

  parse_words("test", line, arguments, none);

  CHECK(words == Words{"[a,b]", "ü;$"});
  CHECK(value == "-");
  CHECK(several == Words{"A=[1,2]", "B=", "-C=x y", "[x,y]", "{}"});
}

TEST_CASE("no flag of any command takes the next word for an empty value, or is content with it") {
  const state::Environment none = [](const char*) { return std::nullopt; };
  for (const CliCommand& command : commands()) {
    const Arguments all = arguments_of(command);
    for (const Argument& argument : all.all()) {
      if (argument.positional() || argument.bare()) continue;
      for (const std::string& spelling : {argument.name, argument.letter}) {
        if (spelling.empty()) continue;
        CAPTURE(command.words());
        CAPTURE(spelling);
        const Words line = {spelling + "=", "--quiet"};
        const Arguments arguments = arguments_of(command);
        const Error e = failure_of([&] { parse_words(command.words(), line, arguments, none); });
        CHECK(std::string(e.what()).find("the value of " + spelling + " is empty") !=
              std::string::npos);
      }
    }
  }
}

TEST_CASE("two dashes end the flags of a command that starts no program") {
  Session session;
  put_cluster(session, "train", 1);
  CHECK(session.run({"describe", "cluster", "-o", "name", "--", "train"}) == 0);
  CHECK(session.out.text == "train\n");
  CHECK(std::string(failure_of([&] {
                      session.run({"describe", "cluster", "--", "-o"});
                    }).what())
            .find("'-o'") != std::string::npos);
}

TEST_CASE("flags that people know from elsewhere are understood") {
  Session session;
  session.run({"version", "--json"});
  CHECK(session.out.text.starts_with("{"));
  for (const Words& words : {Words{"version", "-v"}, Words{"version", "-vv"},
                             Words{"version", "-vvv"}, Words{"-V"}, Words{"--version"}})
    CHECK(session.run(words) == 0);
}

TEST_CASE("what follows two dashes is the program's, read by nobody") {
  Words program;
  Arguments arguments;
  arguments.program({"a program", true, &program});
  const state::Environment none = [](const char*) { return std::nullopt; };
  const Words line = {"--", "run", "--", "-x", "", "[a,b]", "--help"};

  parse_words("test", line, arguments, none);

  CHECK(program == Words{"run", "--", "-x", "", "[a,b]", "--help"});
}

TEST_CASE("JSON is wanted even where the rest makes no sense") {
  const state::Environment none = [](const char*) { return std::nullopt; };
  CHECK(wanted_document(Words{"bla", "-o", "json"}, none) == Format::json);
  CHECK(wanted_document(Words{"-ojson"}, none) == Format::json);
  CHECK(wanted_document(Words{"bla", "-oyaml"}, none) == Format::yaml);
  CHECK(wanted_document(Words{"--output=json", "x"}, none) == Format::json);
  CHECK(wanted_document(Words{"get", "nodes", "--json"}, none) == Format::json);
  CHECK(wanted_document(Words{"exec", "-qojson", "x"}, none) == Format::json);
  CHECK_FALSE(wanted_document(Words{"get", "nodes", "-o=", "json"}, none).has_value());
  CHECK_FALSE(wanted_document(Words{"get", "nodes", "--output=", "json"}, none).has_value());
  CHECK_FALSE(wanted_document(Words{"create", "cluster", "--image", "-ojson"}, none).has_value());
  CHECK_FALSE(wanted_document(Words{"exec", "x", "--", "-o", "json"}, none).has_value());
}

TEST_CASE("the words that people try lead to the command that they mean") {
  const auto found = [](const Words& words) { return resolve(commands(), words).command->words(); };
  CHECK(found({"ls"}) == "get clusters");
  CHECK(found({"get", "cluster"}) == "get clusters");
  CHECK(found({"kill", "demo"}) == "delete cluster");
  CHECK(found({"kill", "cluster", "demo"}) == "delete cluster");
  CHECK(found({"scp", "a", "demo:b"}) == "cp");
  CHECK(found({"-o", "json", "get", "nodes"}) == "get nodes");
  CHECK(found({"-q", "--state-dir=/x", "-ojson", "get", "nodes"}) == "get nodes");
  CHECK(found({"get", "-o", "json", "nodes"}) == "get nodes");
  CHECK(found({"--cluster", "demo", "run", "job"}) == "run job");
  CHECK(found({"--fanout", "3", "-qv", "exec", "demo", "--", "-o", "x"}) == "exec");
  CHECK(verb_first(commands(), {"--yes", "--timeout", "5m", "delete", "cluster", "x", "--", "y"}) ==
        Words{"delete", "cluster", "x", "--yes", "--timeout", "5m", "--", "y"});
}

TEST_CASE("several clusters are named, and one that is missing refuses all before any is changed") {
  Session session;
  put_cluster(session, "train", 1);
  const auto said = [&](const Words& words) {
    return std::string(failure_of([&] { session.run(words); }).what());
  };
  CHECK(said({"delete", "cluster"}).find("name a cluster, or use --all") != std::string::npos);
  CHECK(said({"delete", "cluster", "train", "--all"}).find("not both") != std::string::npos);
  CHECK(said({"delete", "cluster", "trian"}).find("did you mean train?") != std::string::npos);
  CHECK(said({"rename", "cluster", "trian", "x"}).find("did you mean train?") != std::string::npos);
  CHECK(said({"stop", "cluster", "trian"}).find("did you mean train?") != std::string::npos);
  const std::string node = "there is no cluster 'train-0': that is a node of cluster train";
  for (const std::string verb : {"start", "stop", "delete"}) {
    CHECK(said({verb, "cluster", "train", "train-0"}) == node + "; nothing was changed");
    CHECK(said({verb, "cluster", "train", "train-0", "--dry-run"}) ==
          node + "; nothing was changed");
  }
  CHECK(said({"delete", "cluster", "train-0", "--yes"}) == node);
  CHECK(session.context.store().find_cluster(ClusterName{"train"}));
}

TEST_CASE("help has the flags of a long command by what they are about, and commands by topic") {
  const auto shown = [](const Words& words) {
    Session session;
    session.run(words);
    return session.out.text;
  };
  const std::string create = shown({"create", "cluster", "--help"});
  std::size_t before = 0;
  for (const char* title :
       {"\nFlags:\n", "\nMachine flags:\n", "\nStorage flags:\n", "\nNetwork and login flags:\n",
        "\nGuard flags:\n", "\nGlobal flags:\n"}) {
    CAPTURE(title);
    const std::size_t at = create.find(title);
    REQUIRE(at != std::string::npos);
    CHECK(at > before);
    before = at;
  }
  const std::string all = shown({"--help"});
  for (const char* title : {"\nClusters:\n", "\nNodes:\n", "\nJobs:\n", "\nClouds:\n"})
    CHECK(all.find(title) != std::string::npos);
  CHECK(all.find("run job") > all.find("\nJobs:\n"));
}

TEST_CASE("every command has a page with a summary and an example, and every flag a sentence") {
  for (const CliCommand& command : commands()) {
    if (command.verb.starts_with("__")) continue;
    Session session;
    Words words = {std::string(command.verb), std::string(command.noun), "--help"};
    std::erase(words, "");
    CHECK(session.run(words) == 0);
    CHECK(session.out.text.find("Example:\n  ") != std::string::npos);
    const Arguments arguments = arguments_of(command);
    for (const Argument& argument : arguments.all()) {
      CAPTURE(command.words());
      CAPTURE(argument.name);
      CHECK_FALSE(argument.help.empty());
    }
  }
}

TEST_CASE("a command that changes something can be tried with --dry-run") {
  for (const CliCommand& command : commands()) {
    CAPTURE(command.words());
    const bool has_dry_run = arguments_of(command).find("--dry-run") != nullptr;
    CHECK((has_dry_run || command.effect != Effect::changes));
    CHECK((!has_dry_run || command.effect == Effect::changes));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
