#include "envs/environments/pinned_file.hpp"

#include "base/error.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {

using namespace std::chrono_literals;

constexpr auto kPatience = 15min;
constexpr std::size_t kLargest = 1UL << 30U;

const PinnedFile& pinned_for(std::string_view machine, std::span<const PinnedFile> wheels,
                             std::string_view what) {
  for (const PinnedFile& wheel : wheels)
    if (wheel.machine == machine) return wheel;
  throw Error(ErrorKind::usage, "there is no " + std::string(what) + " for a processor '" +
                                    std::string(machine) + "': x86_64 and aarch64 are known");
}

std::string fetch_pinned(const PinnedFile& file, std::string_view hint, http::Client& http,
                         const Cancel& cancel) {
  const std::string url(file.url);
  auto answer = http.send({.url = url, .limit = kPatience, .largest_answer = kLargest}, cancel);
  if (answer.status != 200)
    throw Error(ErrorKind::remote, "HTTP " + std::to_string(answer.status) + " from " + url + "; " +
                                       std::string(hint));
  const std::string sum = transfer::sha256_hex(answer.body);
  if (sum != file.sha256)
    throw Error(ErrorKind::remote, url + " has the SHA-256 " + sum + ", not " +
                                       std::string(file.sha256) + ": it is not used");
  return std::move(answer.body);
}

}  // namespace fastgpu::envs
