#include "envs/environments/uv.hpp"

#include <sys/stat.h>

#include <array>

#include "base/error.hpp"
#include "envs/environments/wheel.hpp"
#include "state/directory.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kPatience = 15min;

constexpr std::array kWheels = {
    UvWheel{"x86_64",
            "https://files.pythonhosted.org/packages/3d/aa/"
            "26d64642d808de4a652579ef950d7cd2d37f080a8babf9c67c6b75fc4c3f/"
            "uv-0.13.9-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            "d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19"},
    UvWheel{
        "aarch64",
        "https://files.pythonhosted.org/packages/57/15/"
        "94b6cd62ac3ff6550288328e8035288875197cbc183f51554b266a69877b/"
        "uv-0.13.9-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl",
        "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe"},
};

}  // namespace

const UvWheel& uv_wheel(std::string_view machine) {
  for (const UvWheel& wheel : kWheels)
    if (wheel.machine == machine) return wheel;
  throw Error(ErrorKind::usage, "there is no uv for a processor '" + std::string(machine) +
                                    "': x86_64 and aarch64 are known");
}

fs::path fetch_uv(std::string_view machine, const fs::path& directory, http::Client& http,
                  const Cancel& cancel) {
  const UvWheel& wheel = uv_wheel(machine);
  const fs::path program =
      directory / ("uv-" + std::string(kUvVersion) + "-" + std::string(machine));
  if (fs::exists(program)) return program;
  const std::string url(wheel.url);
  const auto answer = http.send({.url = url, .limit = kPatience}, cancel);
  if (answer.status != 200)
    throw Error(ErrorKind::remote, "HTTP " + std::to_string(answer.status) + " from " + url +
                                       "; another way to uv: --uv FILE");
  const std::string sum = transfer::sha256_hex(answer.body);
  if (sum != wheel.sha256)
    throw Error(ErrorKind::remote, url + " has the SHA-256 " + sum + ", not " +
                                       std::string(wheel.sha256) + ": it is not used");
  const std::string member = "uv-" + std::string(kUvVersion) + ".data/scripts/uv";
  const std::string content = file_in_wheel(answer.body, member);
  state::make_private_directory(directory);
  const fs::path fresh = program.string() + ".new";
  state::write_private_file(fresh, content);
  fs::permissions(fresh, fs::perms::owner_all);
  fs::rename(fresh, program);
  return program;
}

}  // namespace fastgpu::envs
