#include "state/private_place.hpp"

#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/path_trust.hpp"

namespace fastgpu::state {
namespace {

namespace fs = std::filesystem;

constexpr std::array kInside = {"state.db", "state.db-wal", "state.db-shm", "state.db-journal",
                                "clusters", "locks",        "owners",       "scratch",
                                "tools",    "local",        "world"};

[[noreturn]] void refuse(const ChosenPlace& place, const Weakness& weakness) {
  const std::string part = weakness.part.string();
  const std::string remedy = weakness.kind == Weakness::Kind::mode
                                 ? "run `chmod go-w " + part + "`"
                                 : "use an account's own files only (chown)";
  throw Error(ErrorKind::denied, place.name + " " + place.path.string() +
                                     " is not private: " + part + " " + weakness.reason +
                                     ", and the keys of clusters are in it; " + remedy + ", or " +
                                     place.choice);
}

}  // namespace

ChosenPlace state_place(const fs::path& directory) {
  return {.name = "the state directory",
          .path = directory,
          .choice = "choose another place with --state-dir"};
}

void require_private_place(const fs::path& directory) {
  require_private_place(state_place(directory));
}

void require_private_place(const ChosenPlace& place) {
  require_directory(place);
  const std::vector<uid_t> owners = {::geteuid()};
  const auto require_private = [&](const fs::path& path) {
    const auto weakness = at_place(place, [&] { return find_weakness(path, owners); });
    if (weakness) refuse(place, *weakness);
  };
  require_private(place.path);
  for (const char* const name : kInside)
    require_private(place.path / name);
}

}  // namespace fastgpu::state
