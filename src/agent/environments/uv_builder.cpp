// The builder uv: installs wheels of package indexes for an interpreter of the node.
#include <utility>

#include "agent/environments/builder.hpp"
#include "agent/environments/earlier_packages.hpp"
#include "agent/environments/node.hpp"
#include "agent/environments/pylock.hpp"
#include "agent/environments/settling.hpp"
#include "agent/environments/source_builds.hpp"
#include "agent/environments/unpacked_python.hpp"
#include "agent/environments/uv_solving.hpp"
#include "agent/files/disk.hpp"
#include "base/fault_point.hpp"
#include "base/names.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// Returns the parts without the packages that were taken, and leaves out empty parts.
std::vector<std::string> parts_without(const std::vector<std::string>& parts,
                                       const std::set<std::string>& taken) {
  if (taken.empty()) return parts;
  std::vector<std::string> left;
  for (const std::string& part : parts)
    if (std::string rest = without_packages(part, taken); !rest.empty())
      left.push_back(std::move(rest));
  return left;
}

class UvBuilder final : public PackageBuilder {
 public:
  UvBuilder(const BuilderChoice& choice, fs::path cache)
      : tools_(choice.tools), uv_(choice, std::move(cache)) {}

  SolveAnswer solve(const SolveRequest& request, Listener& listener) override {
    uv_.use_indexes(request);
    SolveAnswer answer;
    const std::string python = has_archive()
                                   ? interpreter_in(unpacked_python(archive(), listener)).string()
                                   : find_python(request.python, listener);
    if (!has_archive()) answer.python = python;
    answer.python_version = python_version(python);
    answer.builder = uv_.version(listener);
    UvSolution found = solve_by_uv(uv_, request, python, listener);
    answer.solution = std::move(found.packages);
    answer.build_tools = std::move(found.build_tools);
    return answer;
  }

  void make(const BuildRequest& request, const fs::path& version, Listener& listener,
            const OnPart& on_part) override {
    uv_.use_logins();
    make_python(request, version, listener);
    fault_point("env-build-python");
    write_atomically(details_of(version) / "pylock.toml", request.solution, 0644);
    const auto taken = take_earlier_packages(request, version, listener);
    if (!taken.names.empty()) on_part(taken.sums);
    const auto parts = parts_without(request.parts, taken.names);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      listener.tell("installing packages" + (parts.size() == 1
                                                 ? ""
                                                 : ", part " + std::to_string(i + 1) + " of " +
                                                       std::to_string(parts.size())));
      install_wheels(uv_, parts[i], version / "bin/python", listener);
      on_part({});
    }
    const auto sources = parts_without(request.sources, taken.names);
    build_from_source(uv_, request, sources, version, listener);
    if (!sources.empty()) on_part({});
  }

  /// Handles files that several packages contain. uv installs packages in parallel, so that it is
  /// random which one is last.
  SettledFiles settle(const BuildRequest& request, const fs::path& version,
                      Listener& listener) override {
    return settle_wheels(uv_, request.solution, request.python_version, version, listener);
  }

 private:
  void make_python(const BuildRequest& request, const fs::path& version, Listener& listener) {
    const std::string python =
        has_archive() ? own_python(version, listener) : find_python(request.python, listener);
    const std::string found = python_version(python);
    if (found != request.python_version)
      throw Error(ErrorKind::conflict, python + " is Python " + found +
                                           ", and the lock was made for " + request.python_version +
                                           ": lock again");
    uv_.run({"venv", "--quiet", "--no-project", "--allow-existing", "--python", python,
             version.string()},
            listener);
    fs::create_directory(details_of(version));
  }

  fs::path archive() const { return tools_ / "python.tar"; }
  bool has_archive() const { return fs::exists(archive()); }

  /// Copies the Python into the environment, so that it is moved together with the environment.
  std::string own_python(const fs::path& version, Listener& listener) const {
    fs::create_directories(version / "python");
    copy_tree(unpacked_python(archive(), listener), version / "python", listener);
    return interpreter_in(version / "python").string();
  }

  /// Returns the system's interpreter for a version such as "3.11", or the one at a path.
  std::string find_python(const std::string& wanted, const Listener& listener) const try {
    const std::string said =
        uv_.run({"python", "find", "--no-project", "--system", wanted}, listener);
    return said.substr(0, said.find('\n'));
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::interrupted) throw;
    throw Error(ErrorKind::not_found,
                "there is no Python " + printable(wanted) +
                    " on this node: install it there, or give its archive as 'python' in env.yaml");
  }

  fs::path tools_;
  Uv uv_;
};

}  // namespace

std::unique_ptr<PackageBuilder> uv_builder(const BuilderChoice& choice, const fs::path& cache) {
  return std::make_unique<UvBuilder>(choice, cache);
}

}  // namespace fastgpu::agent
