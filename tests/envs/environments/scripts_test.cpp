// The scripts that enter an environment, run by the real shell, and wheels that are unpacked.
#include <doctest/doctest.h>

#include <fstream>

#include "envs/environments/activate.hpp"
#include "envs/environments/wheel.hpp"
#include "process/capture.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::envs {
namespace {

/// What sh prints for `script`.
std::string shell(const std::string& script) {
  const Cancel never;
  return process::capture({.argv = {"/bin/sh", "-euc", script}}, {}, never).out;
}

/// A zip archive with one stored file.
std::string archive(const std::string& name, const std::string& content, std::uint32_t sum) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i)
      out += static_cast<char>(value >> (8 * i) & 0xffU);
    return out;
  };
  const std::string sizes = number(sum, 4) + number(content.size(), 4) + number(content.size(), 4) +
                            number(name.size(), 2);
  const std::string front = number(0x04034b50, 4) + number(20, 2) + std::string(8, '\0') + sizes +
                            number(0, 2) + name + content;
  const std::string entry = number(0x02014b50, 4) + number(20, 2) + number(20, 2) +
                            std::string(8, '\0') + sizes + std::string(16, '\0') + name;
  return front + entry + number(0x06054b50, 4) + std::string(4, '\0') + number(1, 2) +
         number(1, 2) + number(entry.size(), 4) + number(front.size(), 4) + number(0, 2);
}

TEST_SUITE_BEGIN("envs/scripts");

TEST_CASE("activating puts the environment in front, once, with variables as they were written") {
  EnvironmentSpec spec;
  spec.name = "train";
  spec.variables = {{"ODD", "it's \"q\" $HOME\n;"}};
  const std::string script = activate_script(spec, "/opt/a b/v1");

  CHECK(shell("PATH=/usr/bin:/bin\n" + script + script + "echo \"$PATH\"") ==
        "/opt/a b/v1/bin:/usr/bin:/bin\n");
  CHECK(shell(script + "printf %s \"$ODD\"") == "it's \"q\" $HOME\n;");
  CHECK(shell("unset LD_LIBRARY_PATH\n" + script + "echo \"$LD_LIBRARY_PATH $FASTGPU_ENV\"") ==
        "/opt/a b/v1/lib/fastgpu train\n");
}

TEST_CASE("libraries that a user adds are looked for behind ours and before those of the node") {
  EnvironmentSpec spec;
  spec.variables = {{"LD_LIBRARY_PATH", "/opt/a b:/opt/c"}};
  const std::string script = activate_script(spec, "/v1");
  const std::string show = "echo \"$LD_LIBRARY_PATH\"";

  CHECK(shell("LD_LIBRARY_PATH=/usr/lib64\n" + script + script + show) ==
        "/v1/lib/fastgpu:/opt/a b:/opt/c:/usr/lib64\n");
  CHECK(shell("unset LD_LIBRARY_PATH\n" + script + show) == "/v1/lib/fastgpu:/opt/a b:/opt/c\n");
  spec.variables = {{"LD_LIBRARY_PATH", ""}};
  CHECK(shell("LD_LIBRARY_PATH=/usr/lib64\n" + activate_script(spec, "/v1") + show) ==
        "/v1/lib/fastgpu:/usr/lib64\n");
}

TEST_CASE("scripts that conda packages bring are sourced once") {
  const test::TempDirectory folder;
  const auto scripts = folder.path() / "etc/conda/activate.d";
  std::filesystem::create_directories(scripts);
  std::ofstream(scripts / "a.sh") << "COUNT=\"${COUNT:-}1\"\n";
  EnvironmentSpec spec;
  spec.name = "train";
  spec.builder = Builder::conda;
  const std::string script = activate_script(spec, folder.path());

  CHECK(shell("unset COUNT CONDA_PREFIX\n" + script + script + "echo \"$COUNT $CONDA_PREFIX\"") ==
        "1 " + folder.path().string() + "\n");
  std::filesystem::remove_all(scripts);
  CHECK(shell("unset CONDA_PREFIX\n" + script + "echo \"$FASTGPU_ENV\"") == "train\n");
}

TEST_CASE("a file comes out of an archive as it went in, or not at all") {
  constexpr std::uint32_t kSum = 0x352441c2;  // CRC-32 of "abc".
  CHECK(file_in_wheel(archive("x/uv", "abc", kSum), "x/uv") == "abc");
  for (const std::string& bytes :
       {archive("x/uv", "abd", kSum), archive("y", "abc", kSum),
        archive("x/uv", "abc", kSum).substr(10), std::string("no zip"), std::string()}) {
    const Error e = test::failure_of([&] { file_in_wheel(bytes, "x/uv"); });
    CHECK(e.kind() == ErrorKind::remote);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
