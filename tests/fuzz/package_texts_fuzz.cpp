// What package managers say, and the files that environments come in: locks and wheels.
#include <cstdint>
#include <string>

#include "attempt.hpp"
#include "envs/drivers/command_failure.hpp"
#include "envs/environments/lock.hpp"
#include "envs/environments/wheel.hpp"
#include "ssh/client.hpp"

namespace envs = fastgpu::envs;
using fastgpu::fuzz::attempt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  envs::command_failure({"env", "LC_ALL=C", "apt-get", "install"}, {.status = 100}, text);
  envs::waits_for(text);
  attempt([&] { envs::file_in_wheel(text, "tool-1.0.data/scripts/tool"); });
  attempt([&] {
    const std::string once = envs::to_text(envs::parse_lock(text, "env.lock"));
    if (envs::to_text(envs::parse_lock(once, "env.lock")) != once) __builtin_trap();
  });
  return 0;
}
