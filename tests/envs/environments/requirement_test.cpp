#include "envs/environments/requirement.hpp"
#include "envs/environments/allowed_files.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "envs/environments/local_wheels.hpp"
#include "envs/environments/requests.hpp"
#include "envs/environments/solution.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

const std::string kA(64, 'a');
const std::string kB(64, 'b');
const std::string kC(64, 'c');

EnvironmentSpec requirements_in(const std::string& text) {
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

TEST_CASE("what follows a package's name is a list of comparisons, or is shown as what it is") {
  for (const char* good :
       {"numpy", "numpy>=2", "numpy >= 2, < 3", "numpy (>=2)", "torch==2.9.1+cu130", "a===1.0",
        "numpy~=1.4.2", "numpy==1.*", "horovod[pytorch,ray]==0.28.1", "a>=2,", "a!=1!2.0-rc1",
        "numpy<2.3; python_version < '3.12' and sys_platform == 'linux'", "a[b] ; extra == 'x'",
        "beta @ https://host/beta-1.0-py3-none-any.whl", "./dist/beta-1.0-py3-none-any.whl"})
    CHECK_NOTHROW(check_comparisons(parse_requirement(good)));
  for (const auto& [bad, part] :
       {std::pair{"numpy=>2", "=>2"}, std::pair{"numpy=2", "=2"}, std::pair{"numpy>=2,=<3", "=<3"},
        std::pair{"numpy 2", "2"}, std::pair{"numpy>2 <3", ">2 <3"}, std::pair{"numpy>=", ">="}}) {
    const Error e = failure_of([&] { check_comparisons(parse_requirement(bad)); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK_MESSAGE(
        std::string(e.what()).starts_with("'" + std::string(bad) + "': '" + part + "' is "),
        e.what());
  }
}

TEST_CASE("a wheel is named by its path, or by its address with a sum") {
  struct Row {
    std::string line;
    std::string text;
    std::string wheel;
    std::string url;
  };
  const std::string name = "My_Pkg-1.0+cu12-py3-none-any.whl";
  for (const Row& row :
       {Row{"./dist/" + name, "my-pkg @ file:./dist/" + name, "./dist/" + name, ""},
        {"dist/" + name, "my-pkg @ file:dist/" + name, "dist/" + name, ""},
        {"file:///home/ann/a%20b/" + name, "my-pkg @ file:/home/ann/a b/" + name,
         "/home/ann/a b/" + name, ""},
        {"my.pkg @ file:///w/" + name, "my-pkg @ file:/w/" + name, "/w/" + name, ""},
        {"my-pkg @ file:dist/" + name + " --hash=sha256:" + kA, "my-pkg @ file:dist/" + name,
         "dist/" + name, ""},
        {"./dist/" + name + "[cuda, x] ; python_version > '3'",
         "my-pkg[cuda, x] @ file:./dist/" + name + " ; python_version > '3'", "./dist/" + name, ""},
        {"My-Pkg[cuda] @ file:///w/" + name, "my-pkg[cuda] @ file:/w/" + name, "/w/" + name, ""},
        {"a @ https://h/a-1-py3-none-any.whl#sha256=" + kA, "a @ https://h/a-1-py3-none-any.whl",
         "", "https://h/a-1-py3-none-any.whl"}}) {
    CAPTURE(row.line);
    const Requirement got = parse_requirement(row.line);
    CHECK(got.text == row.text);
    CHECK(got.wheel == row.wheel);
    CHECK(got.url == row.url);
    CHECK(got.project == (row.url.empty() ? "my-pkg" : "a"));
    CHECK(got.hashes ==
          (row.line.find(kA) == std::string::npos ? std::vector<std::string>{} : std::vector{kA}));
    CHECK_NOTHROW(check_package_line(row.line));
    CHECK(parse_requirement(got.text).text == got.text);
  }
}

TEST_CASE("a path or an address that is no wheel is refused") {
  for (const char* line :
       {"./dist", "..", "/w/foo-1.0.tar.gz", "./foo.whl", "file:///w/foo",
        "other @ file:///w/foo-1.0-py3-none-any.whl", "a @ https://h/a-1-py3-none-any.whl#md5=00",
        "a @ https://h/a-1-py3-none-any.whl#sha256=00"}) {
    CAPTURE(line);
    CHECK(failure_of([&] { check_package_line(line); }).kind() == ErrorKind::usage);
  }
  CHECK(failure_of([] {
          requirements_in("builder: conda\npackages: [./a-1-py3-none-any.whl]\n");
        }).kind() == ErrorKind::usage);
}

TEST_CASE(
    "wheels of this machine are pinned by their sums, and asked for where the node has them") {
  const test::TempDirectory folder;
  const std::string name = "foo-1.0-py3-none-any.whl";
  std::ofstream(folder.path() / name) << "a wheel";
  EnvironmentSpec spec = requirements_in("name: t\nmpi: system\npackages: [six, './" + name +
                                         "[x] ; python_version > \"3\"']\n");
  pin_local_wheels(spec, folder.path());
  const std::string sum = transfer::sha256_hex("a wheel");
  CHECK(spec.packages[1] ==
        "foo[x] @ file:./" + name + " ; python_version > \"3\" --hash=sha256:" + sum);
  CHECK(requirements_in(to_yaml(spec)).packages == spec.packages);
  const auto request = solve_request(spec, {}, "/opt/my envs");
  REQUIRE(request.packages.size() == 2);
  CHECK(request.packages[1].starts_with("foo[x] @ file:///opt/my%20envs/.fastgpu/tools/"));
  CHECK(request.packages[1].ends_with("/" + sum.substr(0, 16) + "/" + name +
                                      " ; python_version > \"3\""));
  EnvironmentLock lock;
  lock.spec = spec;
  lock.artefacts = {file("six", kA), {"foo", "1.0", "file:./" + name, sum}};
  const auto build = build_request(lock, "/opt/my envs", "tools", {}, {});
  const auto address = request.packages[1].find("file:");
  CHECK(build.solution.find(request.packages[1].substr(
            address, request.packages[1].find(" ;") - address)) != std::string::npos);
  CHECK(build.lock.find("file:./" + name) != std::string::npos);
  CHECK(build.lock.find("my%20envs/.fastgpu") == std::string::npos);
  pin_local_wheels(spec, folder.path());  // Again, as a lock has them.
  std::ofstream(folder.path() / name) << "another wheel";
  CHECK(failure_of([&] { pin_local_wheels(spec, folder.path()); }).kind() == ErrorKind::usage);
  CHECK(failure_of([&] { pin_local_wheels(spec, folder.path() / "none"); }).kind() ==
        ErrorKind::not_found);
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
    const auto failure = failure_of(
        [&] { requirements_in("name: t\npackages: [x, 'beta==1.0 " + row.options + "']\n"); });
    CHECK(failure.kind() == ErrorKind::usage);
    CHECK(test::mentions(failure, "env.yaml:2:15"));
    CHECK(test::mentions(failure, row.wanted));
  }
  CHECK(test::mentions(failure_of([] {
                         requirements_in("channels: [c]\npackages: ['a --hash=sha256:" + kA +
                                         "']\n");
                       }),
                       "the builder is conda"));
}

TEST_CASE("a solver is asked without hashes, and the spec keeps them") {
  const auto spec =
      requirements_in("name: t\nmpi: system\npackages: ['Beta==1.0 --hash=sha256:" + kA + "']\n");
  CHECK(requirements_of(spec) == std::vector<std::string>{"Beta==1.0"});
  CHECK(to_yaml(spec).find(kA) != std::string::npos);
  CHECK(sum_of(spec) != sum_of(requirements_in("name: t\nmpi: system\npackages: ['Beta==1.0']\n")));
}

TEST_CASE("of a package only the files stay that its hashes allow") {
  const auto kept = [](const std::string& packages, std::vector<Artefact> artefacts) {
    keep_allowed_files(requirements_in("name: t\npackages: " + packages + "\n"), artefacts);
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
  const auto plain = solve_request(requirements_in(two), uv, "/p");
  CHECK(plain.indexes == std::vector<std::string>{"https://a/simple", "https://b/simple"});
  CHECK_FALSE(plain.best_match);
  CHECK(requirements_in(two + "index_strategy: first-match\n").index_strategy ==
        IndexStrategy::first_match);

  const auto asked =
      requirements_in(two + "index_strategy: best-match\nindex_for: {Torch: https://c/simple}\n");
  const auto request = agent::parse_solve_request(to_records(solve_request(asked, uv, "/p")));
  CHECK(request.best_match);
  CHECK(request.indexes.size() == 2);
  REQUIRE(request.index_for.size() == 1);
  CHECK(request.index_for[0].package == "torch");
  CHECK(request.index_for[0].address == "https://c/simple");
  CHECK(to_yaml(requirements_in(to_yaml(asked))) == to_yaml(asked));
  CHECK(sum_of(asked) != sum_of(requirements_in(two)));

  for (const std::string text :
       {"index_strategy: unsafe-best-match", "index_strategy: yes", "index_for: {'--x': https://c}",
        "index_for: {torch: ftp://c}", "channels: [c]\nindex_strategy: best-match",
        "channels: [c]\nindex_for: {torch: https://c}"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { requirements_in("name: t\n" + std::string(text) + "\n"); }).kind() ==
          ErrorKind::usage);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
