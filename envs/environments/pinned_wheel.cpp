#include "envs/environments/pinned_wheel.hpp"

#include "base/error.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {

using namespace std::chrono_literals;

constexpr auto kPatience = 15min;

const PinnedWheel& wheel_for(std::string_view machine, std::span<const PinnedWheel> wheels,
                             std::string_view what) {
  for (const PinnedWheel& wheel : wheels)
    if (wheel.machine == machine) return wheel;
  throw Error(ErrorKind::usage, "there is no " + std::string(what) + " for a processor '" +
                                    std::string(machine) + "': x86_64 and aarch64 are known");
}

std::string fetch_wheel(const PinnedWheel& wheel, std::string_view hint, http::Client& http,
                        const Cancel& cancel) {
  const std::string url(wheel.url);
  auto answer = http.send({.url = url, .limit = kPatience}, cancel);
  if (answer.status != 200)
    throw Error(ErrorKind::remote, "HTTP " + std::to_string(answer.status) + " from " + url + "; " +
                                       std::string(hint));
  const std::string sum = transfer::sha256_hex(answer.body);
  if (sum != wheel.sha256)
    throw Error(ErrorKind::remote, url + " has the SHA-256 " + sum + ", not " +
                                       std::string(wheel.sha256) + ": it is not used");
  return std::move(answer.body);
}

}  // namespace fastgpu::envs
