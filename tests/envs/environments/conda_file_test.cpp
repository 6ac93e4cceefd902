#include "envs/environments/conda_file.hpp"

#include <doctest/doctest.h>

#include <map>

#include "envs/environments/spec.hpp"
#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;
using Texts = std::vector<std::string>;

EnvironmentSpec spec_of(const std::string& text,
                        const std::map<std::string, std::string>& files = {}) {
  const ReadFile reader = [&](const std::filesystem::path& file) -> std::optional<std::string> {
    const auto found = files.find(file.string());
    return found == files.end() ? std::nullopt : std::optional(found->second);
  };
  const auto document = config::Document::parse(text, "dir/environment.yml");
  REQUIRE(is_conda_file(document));
  const std::string yaml = conda_file_as_yaml(document, "dir/environment.yml", reader);
  return read_environment_spec(config::Document::parse(yaml, "env.yaml").root());
}

std::string refusal_of(const std::string& text) {
  const Error e = failure_of([&] { spec_of(text); });
  CHECK(e.kind() == ErrorKind::usage);
  return e.what();
}

TEST_SUITE_BEGIN("envs/conda_file");

TEST_CASE("a file of conda's is an environment of conda packages") {
  const EnvironmentSpec spec = spec_of(
      "name: train\nchannels: [pytorch, nodefaults, conda-forge]\n"
      "dependencies:\n  - python=3.11\n  - pytorch::pytorch=2.1\n  - numpy >=1.20\n  - pip\n  - "
      "pip: []\n"
      "variables: {OMP_NUM_THREADS: 4}\nprefix: /opt/conda/envs/train\n");
  CHECK(spec.name == "train");
  CHECK(spec.builder == Builder::conda);
  CHECK(spec.channels == Texts{"pytorch", "conda-forge"});
  CHECK(spec.packages == Texts{"python=3.11", "pytorch::pytorch=2.1", "numpy >=1.20", "pip"});
  REQUIRE(spec.variables.size() == 1);
  CHECK(spec.variables[0].second == "4");
}

TEST_CASE("a file whose packages are all pip's is an environment of wheels") {
  for (const char* python : {"python=3.11", "python ==3.11", "python 3.11.*", "python=3.11=h1_0"}) {
    CAPTURE(python);
    const EnvironmentSpec spec = spec_of(
        std::string("dependencies:\n  - ") + python +
            "\n  - pip\n  - conda-forge::setuptools\n  - pip:\n    - numpy<2\n    - -r more.txt\n"
            "    - --extra-index-url https://e.example/simple\n",
        {{"dir/more.txt", "six  # for Python 2\n"}});
    CHECK(spec.builder == Builder::uv);
    CHECK(spec.python == "3.11");
    CHECK(spec.packages == Texts{"numpy<2", "six"});
    CHECK(spec.index == Texts{"https://pypi.org/simple", "https://e.example/simple"});
  }
  CHECK(spec_of("dependencies: [python, {pip: [six]}]\n").python == "3");
}

TEST_CASE(
    "a file with packages of both is an environment of conda packages with wheels beside them") {
  const EnvironmentSpec spec = spec_of(
      "name: train\nchannels: [conda-forge]\ndependencies:\n  - python>=3.10\n  - cudatoolkit=11\n"
      "  - pip\n  - pip:\n    - six==1.17\n    - -r more.txt\n    - ./dist/foo-1-py3-none-any.whl\n"
      "    - --index-url https://i.example/simple\n",
      {{"dir/more.txt", "numpy<2\n"}});
  CHECK(spec.builder == Builder::conda);
  CHECK(spec.channels == Texts{"conda-forge"});
  CHECK(spec.packages == Texts{"python>=3.10", "cudatoolkit=11", "pip"});
  CHECK(spec.pip == Texts{"six==1.17", "numpy<2", "./dist/foo-1-py3-none-any.whl"});
  CHECK(spec.index == Texts{"https://i.example/simple"});
}

TEST_CASE("what conda would do and an environment cannot is refused where it is written") {
  CHECK(refusal_of("dependencies: [python>=3.9, {pip: [six]}]\n").find("write one version") !=
        std::string::npos);
  CHECK(refusal_of("dependencies: [{pip: [six]}, {pip: [numpy]}]\n").find("two lists") !=
        std::string::npos);
  CHECK(refusal_of("dependencies: [{npm: [left-pad]}]\n")
            .find("unknown field 'dependencies[0].npm'") != std::string::npos);
  CHECK(refusal_of("dependencies: [{pip: [-e .]}]\n")
            .starts_with("dir/environment.yml (pip):1: '-e .' is not supported here"));
  CHECK(refusal_of("platforms: [linux-64]\ndependencies: [six]\n").find("unknown field") !=
        std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
