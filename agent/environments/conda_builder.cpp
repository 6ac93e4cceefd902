// Packages of conda channels, by py-rattler: a library for Python, driven by a script of ours. A
// Python of the node runs it; the one in the environment is a package like others.
#include <array>

#include "agent/disk.hpp"
#include "agent/environments/builder.hpp"
#include "agent/environments/node.hpp"
#include "base/fault_point.hpp"
#include "process/capture.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

// py-rattler's wheels are for every Python from the oldest of these on.
constexpr std::array kInterpreters = {"python3",    "python3.14", "python3.13",
                                      "python3.12", "python3.11", "python3.10"};
constexpr const char* kIsNewEnough = "import sys; sys.exit(sys.version_info < (3, 10))";

class CondaBuilder final : public PackageBuilder {
 public:
  CondaBuilder(const BuilderChoice& choice, const fs::path& cache)
      : tools_(fs::path(choice.tools) / "conda"), cache_(cache), patience_(choice.patience) {}

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
    return answer;
  }

  void make(const BuildRequest& request, const fs::path& version, Listener& listener,
            const OnPart& on_part) override {
    listener.tell("installing packages");
    fs::create_directories(details_of(version));
    write_atomically(details_of(version) / "conda.json", request.solution, 0644);
    Records words = settings();
    words.add("prefix", version.string());
    words.add("solution", request.solution);
    run("install", words, listener);
    fault_point("env-build-python");
    on_part({});
  }

 private:
  Records settings() const {
    Records words;
    words.add("cache", cache_.string());
    words.add("patience", patience_.count());
    return words;
  }

  std::string run(const std::string& what, const Records& words, const Listener& listener) const {
    return output_of({.argv = {interpreter(), "-I", (tools_ / "client.py").string(), what},
                      .environment = plain_environment(),
                      .input = words.text()},
                     listener);
  }

  static std::string interpreter() {
    const auto environment = process::current_environment();
    const std::string path = process::variable(environment, "PATH").value_or("/usr/bin:/bin");
    const Cancel never;
    for (const char* const name : kInterpreters)
      try {
        const std::string program = process::find_program(name, path);
        const auto done =
            process::capture({.argv = {program, "-I", "-c", kIsNewEnough}}, {}, never);
        if (done.status.ok()) return program;
      } catch (const Error&) {
        continue;
      }
    throw Error(ErrorKind::not_found,
                "conda packages are installed by py-rattler, which needs Python 3.10 or newer on "
                "the node that builds, and there is none");
  }

  fs::path tools_;
  fs::path cache_;
  std::chrono::seconds patience_;
};

}  // namespace

std::unique_ptr<PackageBuilder> conda_builder(const BuilderChoice& choice, const fs::path& cache) {
  return std::make_unique<CondaBuilder>(choice, cache);
}

}  // namespace fastgpu::agent
