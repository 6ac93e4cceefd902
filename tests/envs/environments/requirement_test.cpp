#include "envs/environments/requirement.hpp"

#include <doctest/doctest.h>

#include "envs/environments/requests.hpp"
#include "envs/environments/solution.hpp"
#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

const std::string kA(64, 'a');
const std::string kB(64, 'b');
const std::string kC(64, 'c');

EnvironmentSpec read(const std::string& text) {
  return read_environment_spec(config::Document::parse(text, "env.yaml").root());
}

Artefact file(const std::string& package, const std::string& sum) {
  return {.package = package,
          .version = "1.0",
          .url = "https://i/" + package + "-" + sum.substr(0, 1) + ".whl",
          .sha256 = sum};
}

TEST_SUITE_BEGIN("envs/requirement");

TEST_CASE("a requirement is what a solver reads, and the hashes beside it") {
  struct Row {
    std::string line;
    std::string text;
    std::string project;
    std::size_t hashes;
  };
  for (const Row& row :
       {Row{"beta==1.0", "beta==1.0", "beta", 0},
        {"Foo_.bar[x,y] >=2", "Foo_.bar[x,y] >=2", "foo-bar", 0},
        {"beta==1.0 --hash=sha256:" + kA, "beta==1.0", "beta", 1},
        {"beta==1.0 --hash sha256:" + kA + "  --hash=sha256:" + kB, "beta==1.0", "beta", 2},
        {"--hash=sha256:" + kA + " beta", "beta", "beta", 1},
        {"beta; python_version < '3.9' --hash=sha256:" + std::string(64, 'A'),
         "beta; python_version < '3.9'", "beta", 1},
        {"a @ https://h/a-1-py3-none-any.whl", "a @ https://h/a-1-py3-none-any.whl", "a", 0}}) {
    CAPTURE(row.line);
    const Requirement got = parse_requirement(row.line);
    CHECK(got.text == row.text);
    CHECK(got.project == row.project);
    CHECK(got.hashes.size() == row.hashes);
    if (!got.hashes.empty()) CHECK(got.hashes.front() == kA);
  }
}

TEST_CASE("an option that would have no effect is refused with its name and place") {
  struct Row {
    std::string options;
    std::string wanted;
  };
  for (const Row& row : {Row{"--pre", "'--pre'"},
                         {"--index-url=https://i/simple", "'--index-url'"},
                         {"-i https://i/simple", "'-i'"},
                         {"--config-settings=a=b", "'--config-settings'"},
                         {"--global-option=\"x\"", "'--global-option'"},
                         {"--hashes=sha256:x", "'--hashes'"},
                         {"--hash", "64 hexadecimal digits"},
                         {"--hash=", "64 hexadecimal digits"},
                         {"--hash=md5:" + kA.substr(0, 32), "cannot be checked"},
                         {"--hash=sha512:" + kA + kA, "cannot be checked"},
                         {"--hash=sha256:" + kA.substr(1), "cannot be checked"},
                         {"--hash=sha256:" + kA + "g", "cannot be checked"}}) {
    CAPTURE(row.options);
    const auto failure =
        failure_of([&] { read("name: t\npackages: [x, 'beta==1.0 " + row.options + "']\n"); });
    CHECK(failure.kind() == ErrorKind::usage);
    CHECK(test::mentions(failure, "env.yaml:2:15"));
    CHECK(test::mentions(failure, row.wanted));
  }
  CHECK(test::mentions(
      failure_of([] { read("channels: [c]\npackages: ['a --hash=sha256:" + kA + "']\n"); }),
      "the builder is conda"));
}

TEST_CASE("a solver is asked without hashes, and the spec keeps them") {
  const auto spec =
      read("name: t\nmpi: system\npackages: ['Beta==1.0 --hash=sha256:" + kA + "']\n");
  CHECK(requirements_of(spec) == std::vector<std::string>{"Beta==1.0"});
  CHECK(to_yaml(spec).find(kA) != std::string::npos);
  CHECK(sum_of(spec) != sum_of(read("name: t\nmpi: system\npackages: ['Beta==1.0']\n")));
}

TEST_CASE("of a package only the files stay that its hashes allow") {
  const auto kept = [](const std::string& packages, std::vector<Artefact> artefacts) {
    keep_allowed_files(read("name: t\npackages: " + packages + "\n"), artefacts);
    std::string sums;
    for (const Artefact& one : artefacts)
      sums += one.sha256.substr(0, 1);
    return sums;
  };
  const std::vector<Artefact> both = {file("beta", kA), file("beta", kB), file("x", kC)};
  CHECK(kept("[beta]", both) == "abc");
  CHECK(kept("['beta --hash=sha256:" + kA + "']", both) == "ac");
  CHECK(kept("['Beta --hash=sha256:" + kC + " --hash=sha256:" + kB + "']", both) == "bc");
  CHECK(kept("['gone --hash=sha256:" + kA + "']", both) == "abc");
  const auto failure = failure_of([&] { kept("[x, 'beta==1.0 --hash=sha256:" + kC + "']", both); });
  CHECK(failure.kind() == ErrorKind::remote);
  CHECK(test::mentions(failure, "'beta==1.0 --hash=sha256:" + kC + "': no file has"));
  CHECK(test::mentions(failure, "beta-a.whl with " + kA + ", beta-b.whl with " + kB));
  CHECK_THROWS(kept("['beta --hash=sha256:" + kA + "', 'beta --hash=sha256:" + kB + "']", both));
}

TEST_CASE("indexes are asked in their order unless the file says best-match") {
  const agent::BuilderChoice uv{.name = "uv", .tools = "/t"};
  const std::string two = "name: t\nindex: [https://a/simple, https://b/simple]\n";
  const auto plain = solve_request(read(two), uv, "/p");
  CHECK(plain.indexes == std::vector<std::string>{"https://a/simple", "https://b/simple"});
  CHECK_FALSE(plain.best_match);
  CHECK(read(two + "index_strategy: first-match\n").index_strategy == IndexStrategy::first_match);

  const auto asked =
      read(two + "index_strategy: best-match\nindex_for: {Torch: https://c/simple}\n");
  const auto request = agent::parse_solve_request(to_records(solve_request(asked, uv, "/p")));
  CHECK(request.best_match);
  CHECK(request.indexes.size() == 2);
  REQUIRE(request.index_for.size() == 1);
  CHECK(request.index_for[0].package == "torch");
  CHECK(request.index_for[0].address == "https://c/simple");
  CHECK(to_yaml(read(to_yaml(asked))) == to_yaml(asked));
  CHECK(sum_of(asked) != sum_of(read(two)));

  for (const std::string text :
       {"index_strategy: unsafe-best-match", "index_strategy: yes", "index_for: {'--x': https://c}",
        "index_for: {torch: ftp://c}", "channels: [c]\nindex_strategy: best-match",
        "channels: [c]\nindex_for: {torch: https://c}"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { read("name: t\n" + std::string(text) + "\n"); }).kind() ==
          ErrorKind::usage);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
