#include "envs/environments/spec.hpp"

#include <doctest/doctest.h>

#include "envs/environments/lock.hpp"
#include "envs/environments/requests.hpp"
#include "envs/environments/solution.hpp"
#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

EnvironmentSpec read(const std::string& text) {
  return read_environment_spec(config::Document::parse(text, "env.yaml").root());
}

TEST_SUITE_BEGIN("envs/spec");

TEST_CASE("a file with every field is read") {
  const auto spec = read(
      "name: train\npython: 3.11\npackages: [numpy<2.3, 'torch==2.5.1']\nbuilder: auto\n"
      "index: [https://a.example/simple, https://b.example/simple]\nfrom: tr2.5.1_cu12.4_py311\n"
      "variables: {OMP_NUM_THREADS: 4}\npost_install: [[python, -m, compileall]]\n");

  CHECK(spec.name == "train");
  CHECK(spec.python == "3.11");
  CHECK(spec.packages == std::vector<std::string>{"numpy<2.3", "torch==2.5.1"});
  CHECK(spec.index.size() == 2);
  CHECK(spec.from == "tr2.5.1_cu12.4_py311");
  CHECK(spec.variables.front().second == "4");
  CHECK(spec.post_install.front().back() == "compileall");
}

TEST_CASE("modules are compiled unless the file says that they are not") {
  CHECK(read("name: t\n").bytecode == Bytecode::compiled);
  const auto spec = read("name: t\nbytecode: none\n");
  CHECK(spec.bytecode == Bytecode::none);
  CHECK(to_yaml(read(to_yaml(spec))) == to_yaml(spec));
  CHECK(sum_of(spec) != sum_of(read("name: t\n")));
  CHECK(sum_of(read("name: t\nbytecode: compiled\n")) == sum_of(read("name: t\n")));
  CHECK(failure_of([] { read("bytecode: yes\n"); }).kind() == ErrorKind::usage);
}

TEST_CASE("packages that may be built from source are named in one spelling, each once") {
  const auto spec = read("name: t\nsources: [termcolor, Foo._bar, gast, foo-bar]\n");

  CHECK(spec.sources == std::vector<std::string>{"foo-bar", "gast", "termcolor"});
  CHECK(to_yaml(read(to_yaml(spec))) == to_yaml(spec));
  CHECK(sum_of(spec) != sum_of(read("name: t\n")));
  CHECK(sum_of(read("name: t\nsources: []\n")) == sum_of(read("name: t\n")));
}

TEST_CASE("channels make it an environment of conda packages") {
  CHECK(read("name: t\n").builder == Builder::uv);
  CHECK(read("index: https://a.example/simple\nbuilder: auto\n").builder == Builder::uv);

  const auto spec =
      read("channels: [conda-forge, https://c.example/mine]\npackages: [_x, 'a >=2']\n");
  CHECK(spec.builder == Builder::conda);
  CHECK(spec.channels == std::vector<std::string>{"conda-forge", "https://c.example/mine"});
  CHECK(spec.python.empty());

  const auto usual = read("builder: conda\npython: 3.11\n");
  CHECK(usual.channels == std::vector<std::string>{"conda-forge"});
  CHECK(requirements_of(usual) == std::vector<std::string>{"python 3.11.*", "openmpi >=4.1,<6"});
}

TEST_CASE("wheels beside conda packages are part of the file") {
  const std::string text =
      "name: t\nbuilder: conda\npackages: ['numpy >=2']\npip: [six<2, ./foo-1-py3-none-any.whl]\n";
  const auto spec = read(text + "index: https://i.example/simple\n");
  CHECK(spec.packages == std::vector<std::string>{"numpy >=2"});
  CHECK(spec.pip == std::vector<std::string>{"six<2", "./foo-1-py3-none-any.whl"});
  CHECK(spec.index == std::vector<std::string>{"https://i.example/simple"});
  CHECK(to_yaml(read(to_yaml(spec))) == to_yaml(spec));
  CHECK(sum_of(spec) != sum_of(read(text)));

  for (const char* wrong :
       {"pip: [six]\n", "builder: conda\npip: ['-e .']\n", "builder: conda\npip: [six --pre]\n",
        "builder: conda\nindex: https://i.example/simple\n",
        "builder: conda\nindex_for: {a: 'https://i.example/simple'}\n"}) {
    CAPTURE(wrong);
    CHECK(failure_of([&] { read(wrong); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("a lock of both has each in the format of what installs it") {
  EnvironmentLock lock{
      .spec = read("name: t\nbuilder: conda\npip: [six]\n"),
      .builder = "py-rattler 1, uv 1",
      .fastgpu = "1",
      .machine = "x86_64",
      .libc = "",
      .python = "",
      .python_version = "3.11.2",
      .artefacts = {{"python", "3.11.2", "https://c.example/python.conda", "aa", "{}"},
                    {"six", "1.17", "https://f.example/six-1.17-py3-none-any.whl", "bb"}}};
  const auto request = build_request(lock, "/opt/envs", "tools", {}, {});
  CHECK(request.solution.find("python.conda") != std::string::npos);
  CHECK(request.solution.find("six") == std::string::npos);
  CHECK(request.wheels.find("six-1.17-py3-none-any.whl") != std::string::npos);
  CHECK(request.wheels.find("python.conda") == std::string::npos);
  CHECK(request.parts.size() == 1);
  const auto solve = solve_request(lock.spec, {}, "/opt/envs");
  CHECK(solve.packages == std::vector<std::string>{"openmpi >=4.1,<6"});
  CHECK(solve.wheels == std::vector<std::string>{"six"});

  auto other = lock;
  other.artefacts[1].version = "1.18";
  CHECK(differences(lock, other) == std::vector<std::string>{"~ wheel six 1.17 -> 1.18"});
  lock.artefacts.pop_back();
  CHECK(build_request(lock, "/opt/envs", "tools", {}, {}).wheels.empty());
}

TEST_CASE("what the nodes are to have beside it is read, and survives being written") {
  const auto spec = read("name: t\napt: [libaio1, g++]\ndriver: 580\ncuda: 13.0\n");

  CHECK(spec.needs.apt == std::vector<std::string>{"libaio1", "g++"});
  CHECK(spec.needs.driver == "580");
  CHECK(spec.needs.cuda == "13.0");
  CHECK(spec.needs.wants_gpu());
  CHECK(to_yaml(read(to_yaml(spec))) == to_yaml(spec));
  CHECK_FALSE(read("name: t\n").needs.any());
  const auto fabric = read("name: t\nrdma: true\n");
  CHECK(fabric.needs.any());
  CHECK_FALSE(fabric.needs.wants_gpu());
  CHECK(read(to_yaml(fabric)).needs.rdma);
  CHECK_FALSE(read("name: t\nrdma: false\n").needs.any());
}

TEST_CASE("CANN is its version and its installers, each from an address or a path, with its sum") {
  const std::string sum(64, 'a');
  const std::string text =
      "name: t\nfrom: tr2.7.1_can8.3.RC1_py311\ncann:\n  version: 8.3.RC1\n  installers:\n"
      "    - {url: https://i/toolkit.run, sha256: " +
      sum +
      "}\n"
      "    - {path: /mnt/kernels.run, sha256: " +
      sum + "}\n";
  const auto spec = read(text);
  REQUIRE(spec.needs.cann);
  CHECK(spec.needs.any());
  CHECK_FALSE(spec.needs.wants_gpu());
  CHECK(spec.needs.cann->version == "8.3.RC1");
  REQUIRE(spec.needs.cann->installers.size() == 2);
  CHECK(spec.needs.cann->installers[1].from == "/mnt/kernels.run");
  CHECK(to_yaml(read(to_yaml(spec))) == to_yaml(spec));

  const auto refusal = [&](const std::string& cann) {
    return std::string(failure_of([&] { read("name: t\ncann: " + cann + "\n"); }).what());
  };
  CHECK(refusal("{version: 8.3.RC1}") ==
        "env.yaml:2:7: 'cann': CANN needs 'version', such as 8.3.RC1, and 'installers', a list");
  CHECK(refusal("{version: newest, installers: []}").find("no version of CANN") !=
        std::string::npos);
  CHECK(refusal("{version: 8.3.RC1, installers: []}").find("names no installer") !=
        std::string::npos);
  for (const char* installer :
       {"{url: 'https://i/x.run'}", "{sha256: '%s'}", "{url: 'ftp://i/x.run', sha256: '%s'}",
        "{path: x.run, sha256: '%s'}", "{url: 'https://i/x', path: /x, sha256: '%s'}",
        "{url: 'https://i/x.run', sha256: abc}",
        "{url: 'https://i/x.run', sha256: '%s', run: 1}"}) {
    CAPTURE(installer);
    std::string item = installer;
    if (const auto at = item.find("%s"); at != std::string::npos) item.replace(at, 2, sum);
    CHECK(refusal("{version: 8.3.RC1, installers: [" + item + "]}").find("env.yaml:2:") == 0);
  }
  CHECK(test::mentions(
      failure_of([&] { read("from: tr2.7.1_can8.5.0_py311\n" + text.substr(text.find("cann:"))); }),
      "env.yaml:3:3: 'cann': CANN 8.3.RC1 does not match 'tr2.7.1_can8.5.0_py311'"));
}

TEST_CASE("what apt would take for an option, a pattern or a removal is refused") {
  for (const char* name : {"--yes", "ssh-", "lib*", "Libaio1", "a", "./x.deb", "a/b"})
    CHECK(failure_of([&] { read("name: t\napt: ['" + std::string(name) + "']\n"); }).kind() ==
          ErrorKind::usage);
  CHECK(test::mentions(failure_of([] { read("name: t\ncuda: newest\n"); }),
                       "env.yaml:2:7: 'cuda': must be a version such as 13.0, not 'newest'"));
}

TEST_CASE("a Python can be an archive with its sum") {
  const std::string sum(64, 'a');
  const auto spec =
      read("name: t\npython: {archive: https://p.example/x.tar.gz, sha256: " + sum + "}\n");

  REQUIRE(spec.python_archive.has_value());
  CHECK(spec.python_archive->url == "https://p.example/x.tar.gz");
  CHECK(spec.python_archive->sha256 == sum);
  CHECK(spec.python.empty());
  CHECK(to_yaml(read(to_yaml(spec))) == to_yaml(spec));
}

TEST_CASE("its one spelling is read as the same") {
  for (const std::string text :
       {"name: t\n", "name: t\nchannels: [a, 'http://b/c']\n",
        "name: t\nbuilder: conda\npython: 3.9\n", "name: t\nmpi: system\n",
        "name: t\npackages: ['a>1; python_version < \"3.9\"']\n",
        "name: t\nvariables: {A: 'it''s \"q\"', B: \"line\\nline\"}\npost_install: [[sh, -c, 'a "
        "b']]\n"}) {
    CAPTURE(text);
    const auto spec = read(text);
    CHECK(to_yaml(read(to_yaml(spec))) == to_yaml(spec));
  }
}

TEST_CASE("Open MPI is a package among the others, unless it is the nodes' own") {
  const auto requirements = requirements_of(read("packages: [numpy]\n"));
  REQUIRE(requirements.size() == 2);
  CHECK(requirements[1].starts_with("openmpi >="));
  CHECK(requirements_of(read("packages: [numpy]\nmpi: system\n")) ==
        std::vector<std::string>{"numpy"});
  CHECK(to_yaml(read("mpi: system\n")) != to_yaml(read("mpi: package\n")));
}

TEST_CASE("what cannot be is refused at its place") {
  struct Row {
    std::string text, place, said;
  };
  const std::vector<Row> rows = {
      {"name: t\npakages: []\n", "env.yaml:2:1", "packages"},
      {"name: ../t\n", "env.yaml:1:7", "not a name of an environment"},
      {"packages: ['-r x']\n", "env.yaml:1:12", "not a requirement"},
      {"packages: [a, 'numpy=>2']\n", "env.yaml:1:15", "'=>2' is not a comparison"},
      {"channels: [a]\npip: ['numpy=>2']\n", "env.yaml:2:7", "'=>2' is not a comparison"},
      {"packages: [\"a\\nb\"]\n", "env.yaml:1:12", "one line"},
      {"python: latest\n", "env.yaml:1:9", "a version such as 3.11"},
      {"python: {archive: https://p}\n", "env.yaml:1:9", "and 'sha256'"},
      {"python: {archive: /x, sha256: a}\n", "env.yaml:1:19", "not an address"},
      {"python: {archive: 'http://x', sha256: a}\n", "env.yaml:1:39", "not a SHA-256"},
      {"index: ftp://x\n", "env.yaml:1:8", "not an address"},
      {"builder: pip\n", "env.yaml:1:10", "uv, conda or auto"},
      {"builder: uv\nchannels: [a]\n", "env.yaml:2:11", "the builder is uv"},
      {"channels: [a]\nindex: https://i\n", "env.yaml:2:8", "the builder is conda"},
      {"channels: [a]\npython: /usr/bin/python3\n", "env.yaml:2:9", "with builder conda"},
      {"channels: [/etc]\n", "env.yaml:1:12", "not a channel"},
      {"channels: ['a b']\n", "env.yaml:1:12", "not a channel"},
      {"sources: gast\n", "env.yaml:1:10", "list"},
      {"sources: [x, 'gast==0.2.2']\n", "env.yaml:1:14", "without a version"},
      {"sources: [-x]\n", "env.yaml:1:11", "not a package name"},
      {"sources: ['https://x/y']\n", "env.yaml:1:11", "not a package name"},
      {"channels: [a]\nsources: [gast]\n", "env.yaml:2:10", "the builder is conda"},
      {"mpi: mpich\n", "env.yaml:1:6", "package or system"},
      {"variables: {PATH: x}\n", "env.yaml:1:19", "set by the environment"},
      {"variables: {'a b': x}\n", "env.yaml:1:20", "not a variable name"},
      {"post_install: [make]\n", "env.yaml:1:16", "a list of words"},
      {"from: torch\n", "env.yaml:1:7", "torch"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Error e = failure_of([&] { read(row.text); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK_MESSAGE(std::string(e.what()).find(row.place) == 0, e.what());
    CHECK_MESSAGE(std::string(e.what()).find(row.said) != std::string::npos, e.what());
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
