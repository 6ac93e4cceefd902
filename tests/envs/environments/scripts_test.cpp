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

TEST_CASE("what CANN's script exports is there once, behind what is the environment's own") {
  const test::TempDirectory home;
  const auto toolkit = home.path() / "Ascend/cann";
  std::filesystem::create_directories(toolkit);
  std::ofstream(toolkit / "set_env.sh")
      << "echo noise\nfalse\nif [[ $UNSET ]]; then exit 1; fi\n"
         "export COUNT=\"${COUNT}1\" ODD=$'it\\'s \"q\" $HOME \\\\\n&;'\n"
         "export ASCEND_TOOLKIT_HOME=$(dirname \"${BASH_SOURCE[0]}\")\n"
         "export PATH=/cann/bin:$PATH LD_LIBRARY_PATH=/cann/lib\n";
  EnvironmentSpec spec;
  spec.name = "train";
  spec.from = "tr2.8.0_can8.5.0_py311";
  const std::string begin = "HOME=" + home.path().string() +
                            "; unset ASCEND_TOOLKIT_HOME COUNT FASTGPU_CANN LD_LIBRARY_PATH; "
                            "PATH=/usr/bin:/bin\n";
  const std::string script = begin + activate_script(spec, "/v1");

  CHECK(shell(script + activate_script(spec, "/v1") +
              "echo \"$COUNT $ASCEND_TOOLKIT_HOME $PATH $LD_LIBRARY_PATH\"; printf %s \"$ODD\"") ==
        "1 " + toolkit.string() +
            " /v1/bin:/cann/bin:/usr/bin:/bin /v1/lib/fastgpu:/cann/lib\n"
            "it's \"q\" $HOME \\\n&;");
  spec.from = "tr2.8.0_cpu_py311";
  CHECK(shell(begin + activate_script(spec, "/v1") + "echo \"${COUNT:-none}\"") == "none\n");
}

TEST_CASE("CANN's script is the one of the version that is wanted, or where the user says") {
  const test::TempDirectory home;
  const auto ascend = home.path() / "Ascend";
  EnvironmentSpec spec;
  const auto chosen = [&](const std::string& from) {
    spec.from = from;
    return shell("HOME=" + home.path().string() +
                 "; WHICH=none; unset ASCEND_TOOLKIT_HOME FASTGPU_CANN\n" +
                 activate_script(spec, "/v1") + "echo \"$WHICH\"");
  };
  const auto put = [&](const std::string& place) {
    std::filesystem::create_directories(ascend / place);
    std::ofstream(ascend / place / "set_env.sh") << "export WHICH=" << place << "\n";
  };

  CHECK(chosen("tr2.8.0_can8.5.0_py311") == "none\n");
  put("ascend-toolkit");
  CHECK(chosen("tr2.8.0_can8.5.0_py311") == "ascend-toolkit\n");
  put("cann");
  CHECK(chosen("tr2.8.0_can8.5.0_py311") == "cann\n");
  CHECK(chosen("tr2.8.0_can8.3.RC1_py311") == "ascend-toolkit\n");
  put("cann-8.5.0");
  CHECK(chosen("tr2.8.0_can8.5.0_py311") == "cann-8.5.0\n");
  put("mine");
  spec.variables = {{"ASCEND_TOOLKIT_HOME", (ascend / "mine/latest").string()}};
  std::filesystem::create_directories(ascend / "mine/latest");
  CHECK(chosen("tr2.8.0_can8.5.0_py311") == "mine\n");
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
