// `env-solve`: which packages a recipe comes to on this node. Installs nothing.
#include "agent/disk.hpp"
#include "agent/environments/call.hpp"
#include "agent/environments/node.hpp"
#include "agent/environments/place.hpp"
#include "agent/subcommands.hpp"

namespace fastgpu::agent {
namespace {

/// The requirements as a file for uv, gone with this object.
class RequirementsFile {
 public:
  RequirementsFile(const std::filesystem::path& directory, const std::vector<std::string>& packages)
      : path_(directory / ("requirements." + std::to_string(::getpid()) + ".in")) {
    std::string text;
    for (const std::string& package : packages)
      text += package + "\n";
    write_atomically(path_, text);
  }
  ~RequirementsFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  RequirementsFile(const RequirementsFile&) = delete;
  RequirementsFile& operator=(const RequirementsFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

SolveAnswer solve(const SolveRequest& request, const Listener& listener) {
  const EnvironmentPlaces places{request.prefix};
  const Uv uv(request.uv, places.own() / "cache", request.index, request.more_indexes);
  SolveAnswer answer{.pylock = {},
                     .python = uv.find_python(request.python, listener),
                     .python_version = {},
                     .machine = machine_name(),
                     .libc = libc_name(),
                     .builder = uv.version(listener)};
  answer.python_version = python_version(answer.python);
  const RequirementsFile requirements(places.own(), request.packages);
  answer.pylock = uv.run({"pip", "compile", "--quiet", "--no-header", "--no-build", "--format",
                          "pylock.toml", "--python", answer.python, requirements.path()},
                         listener);
  return answer;
}

}  // namespace

int run_env_solve(Arguments) {
  return run_call([] {
    const SolveRequest request = parse_solve_request(read_request());
    Listener listener;
    write_answer(to_records(solve(request, listener)));
  });
}

}  // namespace fastgpu::agent
