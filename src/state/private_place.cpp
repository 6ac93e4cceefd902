#include "state/private_place.hpp"

#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/path_trust.hpp"

namespace fastgpu::state {
namespace {

namespace fs = std::filesystem;

constexpr std::array kInside = {"state.db", "state.db-wal", "state.db-shm", "state.db-journal",
                                "clusters", "locks",        "owners",       "scratch",
                                "tools",    "local",        "world"};

constexpr std::size_t kMostOfPath = 200;
constexpr std::string_view kBegin = "the state directory ";

[[noreturn]] void refuse(const fs::path& directory, const Weakness& weakness) {
  const std::string part = weakness.part.string();
  const std::string remedy = weakness.kind == Weakness::Kind::mode
                                 ? "run `chmod go-w " + part + "`"
                                 : "use an account's own files only (chown)";
  throw Error(ErrorKind::denied, std::string(kBegin) + directory.string() +
                                     " is not private: " + part + " " + weakness.reason +
                                     ", and the keys of clusters are in it; " + remedy +
                                     ", or choose another place with --state-dir");
}

}  // namespace

void require_private_place(const fs::path& directory) try {
  const std::vector<uid_t> owners = {::geteuid()};
  if (const auto weakness = find_weakness(directory, owners)) refuse(directory, *weakness);
  for (const char* const name : kInside)
    if (const auto weakness = find_weakness(directory / name, owners)) refuse(directory, *weakness);
} catch (const Error& e) {
  if (std::string_view(e.what()).starts_with(kBegin)) throw;
  const std::string remedy =
      e.kind() == ErrorKind::denied ? "run fastgpu as its owner, or choose" : "choose";
  throw Error(e.kind(), std::string(kBegin) + printable(directory.string(), kMostOfPath) +
                            " cannot be used: " + e.what() + "; " + remedy +
                            " another place with --state-dir");
}

}  // namespace fastgpu::state
