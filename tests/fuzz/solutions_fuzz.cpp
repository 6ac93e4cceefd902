// What a builder says that there is to install, with what an index has told it in it: uv's
// pylock.toml, or, as JSON, conda's. What is read from it is written and read again as the same.
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "envs/environments/conda_solution.hpp"
#include "envs/environments/pylock.hpp"

namespace envs = fastgpu::envs;

namespace {

void check_same(const std::vector<envs::Artefact>& a, const std::vector<envs::Artefact>& b) {
  if (a.size() != b.size()) __builtin_trap();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].package != b[i].package || a[i].version != b[i].version || a[i].url != b[i].url ||
        a[i].sha256 != b[i].sha256)
      __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) try {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('[')) {
    const auto found = envs::read_conda_solution(text);
    check_same(found, envs::read_conda_solution(envs::write_conda_solution(found)));
  }
  const auto found = envs::read_pylock(text, {"gast"});
  check_same(found, envs::read_pylock(envs::write_pylock(found), {"gast"}));
  return 0;
} catch (const fastgpu::Error&) {
  return 0;
}
