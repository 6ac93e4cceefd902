#include "cli/app.hpp"

#include <doctest/doctest.h>

#include <set>

#include "cli/completion.hpp"
#include "cli/parser.hpp"
#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using test::Session;
using Words = std::vector<std::string>;

state::Cluster put_cluster(Session& session, const std::string& name, int nodes) {
  state::Cluster cluster{.id = {"0a1b2c3d"}, .name = {name}, .provider = "static"};
  cluster.state = state::ClusterState::running;
  session.context.store().insert_cluster(cluster);
  for (int i = 0; i < nodes; ++i) {
    state::Node node{.cluster = cluster.id, .index = i, .name = {name + "-" + std::to_string(i)}};
    node.state = state::NodeState::running;
    session.context.store().put_node(node);
  }
  return cluster;
}

Words completed(Session& session, const Words& words) {
  Words line = {"__complete", "--"};
  line.insert(line.end(), words.begin(), words.end());
  session.out.text.clear();
  session.run(line);
  Words out;
  std::string text = session.out.text;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    out.push_back(text.substr(0, std::min(end, text.find('\t'))));
    text.erase(0, end + 1);
  }
  return out;
}

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
      {{"-o"}, "no command"},
      {{"tmux", "demo", "--session", "a.b"}, "session name 'a.b'"},
      {{"tmux", "demo", "--list", "--detach"}, "--list starts nothing"},
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
      keys += (keys.empty() ? "" : " ") + key;
    return keys;
  };
  CHECK(keys_of({"describe", "cluster", "train", "-o", "json"}) ==
        "schema name id provider state slots user network created spec price_per_hour currency "
        "cost_so_far guards ends ends_because taken_back nodes open_intents");
  CHECK(keys_of({"describe", "node", "train-0", "-o", "json"}) ==
        "schema name index state address port private_address user slots instance host_keys "
        "cluster");
}

TEST_CASE("a flag comes from the command line first, then from the environment") {
  Session session;
  session.variables["FASTGPU_OUTPUT"] = "json";
  session.run({"version"});
  CHECK(session.out.text.starts_with("{"));
  session.out.text.clear();
  session.run({"version", "-o", "name"});
  CHECK(session.out.text == FASTGPU_VERSION "\n");
  session.variables["FASTGPU_NODES"] = "abc";
  const Error e = failure_of([&] { session.run({"create", "cluster", "x"}); });
  CHECK(std::string(e.what()).find("FASTGPU_NODES") != std::string::npos);
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
  const Words line = {"[a,b]", "-f", "-",      "-e",  "A=[1,2]", "--env",
                      "B=",    "-e", "-C=x y", "ü;$", ""};

  parse_words("test", line, arguments, none);

  CHECK(words == Words{"[a,b]", "ü;$", ""});
  CHECK(value == "-");
  CHECK(several == Words{"A=[1,2]", "B=", "-C=x y"});
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
  CHECK(wants_json(Words{"bla", "-o", "json"}, none));
  CHECK(wants_json(Words{"-ojson"}, none));
  CHECK(wants_json(Words{"--output=json", "x"}, none));
  CHECK_FALSE(wants_json(Words{"exec", "x", "--", "-o", "json"}, none));
}

TEST_CASE("the words that people try lead to the command that they mean") {
  const auto found = [](const Words& words) { return resolve(commands(), words).command->words(); };
  CHECK(found({"ls"}) == "get clusters");
  CHECK(found({"get", "cluster"}) == "get clusters");
  CHECK(found({"kill", "demo"}) == "delete cluster");
  CHECK(found({"kill", "cluster", "demo"}) == "delete cluster");
  CHECK(found({"-o", "json", "get", "nodes"}) == "get nodes");
}

TEST_CASE("completion answers with what may stand next") {
  Session session;
  put_cluster(session, "train", 2);
  CHECK(completed(session, {"desc"}) == Words{"describe"});
  CHECK(completed(session, {"get", "n"}) == Words{"nodes"});
  CHECK(completed(session, {"describe", "cluster", ""}) == Words{"train"});
  CHECK(completed(session, {"describe", "node", ""}) == Words{"train-0", "train-1"});
  CHECK(completed(session, {"create", "cluster", "x", "--provider", "l"}) == Words{"local"});
  CHECK(completed(session, {"create", "cluster", "x", "--provider=s"}) ==
        Words{"--provider=static"});
  CHECK(completed(session, {"create", "cluster", "--nod"}) == Words{"--nodes"});
  CHECK(completed(session, {"get", "clusters", "-o", "y"}) == Words{"yaml"});
  CHECK(completed(session, {"nonsense", "x"}).empty());
}

TEST_CASE("completion answers from the state directory that the line names") {
  Session known;
  put_cluster(known, "train", 1);
  const std::string place = known.directory.path().string();
  const auto completed_by_stranger = [](const Words& words) {
    Session session;
    return completed(session, words);
  };
  CHECK(completed_by_stranger({"describe", "cluster", "--state-dir", place, ""}) == Words{"train"});
  CHECK(completed_by_stranger({"describe", "cluster", "--state-dir=" + place, ""}) ==
        Words{"train"});
  CHECK(completed_by_stranger({"describe", "cluster", "--state-dir=", ""}).empty());
}

TEST_CASE("completion makes no state directory") {
  Session session;
  CHECK(completed(session, {"describe", "cluster", ""}).empty());
  CHECK(std::filesystem::is_empty(session.directory.path()));
}

TEST_CASE("every command has a page with a summary and an example, and every flag a sentence") {
  for (const Command& command : commands()) {
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

/// To be emptied: these change something and cannot be tried yet.
const std::set<std::string> kWithoutDryRun = {"cp",
                                              "cancel job",
                                              "env activate",
                                              "env remove",
                                              "env install-frameworks",
                                              "env install-driver"};

TEST_CASE("a command that changes something can be tried with --dry-run") {
  for (const Command& command : commands()) {
    CAPTURE(command.words());
    if (kWithoutDryRun.contains(command.words())) continue;
    const bool has_dry_run = arguments_of(command).find("--dry-run") != nullptr;
    CHECK((has_dry_run || command.effect != Effect::changes));
    CHECK((!has_dry_run || command.effect == Effect::changes));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
