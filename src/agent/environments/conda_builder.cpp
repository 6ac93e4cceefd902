// Installs packages of conda channels by py-rattler, a Python library, which our script drives. The
// script runs with a Python that was sent with it or with one of the node. The environment's own
// Python is a package like others. Wheels of package indexes are
// installed beside them by uv, on that Python.
#include <unistd.h>

#include "agent/environments/builder.hpp"
#include "agent/environments/find_python.hpp"
#include "agent/environments/node.hpp"
#include "agent/environments/settling.hpp"
#include "agent/environments/unpacked_python.hpp"
#include "agent/environments/uv_solving.hpp"
#include "agent/files/disk.hpp"
#include "agent/protocol/conda.hpp"
#include "agent/protocol/index_login.hpp"
#include "base/fault_point.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

class CondaBuilder final : public PackageBuilder {
 public:
  CondaBuilder(const BuilderChoice& choice, const fs::path& cache)
      : choice_(choice),
        tools_(fs::path(choice.tools) / "conda"),
        cache_(cache),
        index_timeout_(choice.index_timeout),
        logins_(choice.logins),
        environment_(builder_environment(choice)) {}

  SolveAnswer solve(const SolveRequest& request, Listener& listener) override {
    Records words = settings();
    for (const std::string& channel : request.channels)
      words.add("channel", channel);
    for (const std::string& package : request.packages)
      words.add("spec", package);
    Records said(run("solve", words, listener), "the answer of py-rattler");
    SolveAnswer answer;
    answer.solution = said.get("solution");
    answer.python_version = said.get("python_version");
    answer.builder = said.get("builder");
    if (!request.wheels.empty()) solve_wheels(request, answer, listener);
    return answer;
  }

  void make(const BuildRequest& request, const fs::path& version, Listener& listener,
            const OnPart& on_part) override {
    listener.tell("installing packages");
    fs::create_directories(details_of(version));
    write_atomically(details_of(version) / "conda.json", request.solution, 0644);
    install(request.solution, version, listener);
    fault_point("env-build-python");
    on_part({});
    if (request.wheels.empty()) return;
    write_atomically(details_of(version) / "pylock.toml", request.wheels, 0644);
    Uv uv = uv_for_wheels();
    uv.use_logins();
    listener.tell("installing wheels beside conda packages");
    for (const std::string& part : request.parts) {
      install_wheels(uv, part, python_in(version), listener);
      on_part({});
    }
  }

  SettledFiles settle(const BuildRequest& request, const fs::path& version,
                      Listener& listener) override {
    if (request.wheels.empty()) return {};
    Uv uv = uv_for_wheels();
    uv.use_logins();
    return settle_wheels(uv, request.wheels, request.python_version, version, listener);
  }

 private:
  static fs::path python_in(const fs::path& version) { return version / "bin/python"; }

  Uv uv_for_wheels() const { return {choice_, cache_ / "uv"}; }

  /// Solves the wheels into the installed conda packages: only their metadata says which wheels are
  /// there already.
  void solve_wheels(const SolveRequest& request, SolveAnswer& answer, Listener& listener) {
    if (answer.python_version.empty())
      throw Error(ErrorKind::usage,
                  "the packages under 'pip' need a Python, and none is among the conda packages: "
                  "name it as 'python' in env.yaml");
    const ScratchFolder folder(cache_ / ("solving." + std::to_string(::getpid())));
    listener.tell("installing conda packages for solving wheels");
    install(answer.solution, folder.path() / "env", listener);
    listener.tell("solving");
    Uv uv = uv_for_wheels();
    uv.use_indexes(request);
    answer.wheels = solve_beside(uv, request, python_in(folder.path() / "env").string(), listener);
    answer.builder += ", " + uv.version(listener);
  }

  void install(const std::string& solution, const fs::path& prefix, Listener& listener) const {
    Records words = settings();
    words.add("prefix", prefix.string());
    words.add("solution", solution);
    run("install", words, listener);
  }

  Records settings() const {
    Records words;
    for (const Secret& login : logins_)
      words.add("login", login.reveal());
    words.add("cache", cache_.string());
    words.add("index_timeout", index_timeout_.count());
    return words;
  }

  std::string run(const std::string& what, const Records& words, Listener& listener) const try {
    return output_of(
        {.argv = {interpreter(listener).string(), "-I", (tools_ / "client.py").string(), what},
         .environment = environment_,
         .input = words.text(),
         .name = "py-rattler"},
        listener);
  } catch (const Error& e) {
    throw Error(e.kind(), hide_logins(e.what(), logins_));
  }

  fs::path interpreter(Listener& listener) const {
    const fs::path archive = tools_ / "python.tar";
    if (fs::exists(archive)) return interpreter_in(unpacked_python(archive, listener));
    const std::string oldest(kPythonOfRattler);
    if (const auto found = find_python({.version = oldest, .or_newer = true}))
      return found->interpreter;
    throw Error(ErrorKind::not_found,
                "conda packages are installed by py-rattler, which needs Python " + oldest +
                    " or newer, and the building node lacks it");
  }

  BuilderChoice choice_;
  fs::path tools_;
  fs::path cache_;
  std::chrono::seconds index_timeout_;
  std::vector<Secret> logins_;
  std::vector<std::string> environment_;
};

}  // namespace

std::unique_ptr<PackageBuilder> conda_builder(const BuilderChoice& choice, const fs::path& cache) {
  return std::make_unique<CondaBuilder>(choice, cache);
}

}  // namespace fastgpu::agent
