// Pages of package indexes, netrc files and requirements: what is read of them before a node is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/protocol/index_login.hpp"
#include "base/error.hpp"
#include "envs/environments/index_logins.hpp"
#include "envs/environments/index_way.hpp"
#include "envs/environments/requirements_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fastgpu;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const std::string& place : envs::places_in_page(text))
    if (place.find(':') == std::string::npos) std::abort();
  const std::string hidden = agent::hide_logins(text);
  if (agent::hide_logins(hidden).size() > hidden.size() + text.size()) std::abort();
  try {
    envs::IndexLogins logins;
    logins.add_netrc(Secret(text), "netrc");
  } catch (const Error&) {  // It is none.
  }
  try {
    envs::read_requirements("r.txt", [&](const std::filesystem::path& file) {
      return file == "r.txt" ? std::optional(text) : std::nullopt;
    });
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
