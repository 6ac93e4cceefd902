// uv: wheels of package indexes, on an interpreter of the node.
#include <unistd.h>

#include <utility>

#include "agent/disk.hpp"
#include "agent/environments/builder.hpp"
#include "agent/environments/earlier_packages.hpp"
#include "agent/environments/node.hpp"
#include "agent/environments/pylock.hpp"
#include "agent/environments/unpacked_python.hpp"
#include "base/fault_point.hpp"
#include "base/names.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

std::string without_end(std::string text) {
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

/// The requirements as a file for uv, gone with this object.
class RequirementsFile {
 public:
  RequirementsFile(const fs::path& directory, const std::vector<std::string>& packages)
      : path_(directory / ("requirements." + std::to_string(::getpid()) + ".in")) {
    std::string text;
    for (const std::string& package : packages)
      text += package + "\n";
    write_atomically(path_, text);
  }
  ~RequirementsFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  RequirementsFile(const RequirementsFile&) = delete;
  RequirementsFile& operator=(const RequirementsFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

/// Those in which anything is left, all of them where nothing was taken.
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
      : tools_(choice.tools), cache_(std::move(cache)), environment_(plain_environment()) {
    set("UV_CACHE_DIR", cache_.string());
    set("UV_NO_CONFIG", "1");
    set("UV_NO_PROGRESS", "1");
    set("UV_PYTHON_DOWNLOADS", "never");
    set("UV_PYTHON_PREFERENCE", "only-system");
    set("UV_PREVIEW_FEATURES", "pylock");
    set("UV_HTTP_TIMEOUT", std::to_string(choice.patience.count()));
  }

  SolveAnswer solve(const SolveRequest& request, Listener& listener) override {
    use_indexes(request);
    SolveAnswer answer;
    const std::string python = has_archive()
                                   ? interpreter_in(unpacked_python(archive(), listener)).string()
                                   : find_python(request.python, listener);
    if (!has_archive()) answer.python = python;
    answer.python_version = python_version(python);
    answer.builder = version(listener);
    const RequirementsFile requirements(EnvironmentPlaces{request.prefix}.own(), request.packages);
    answer.solution = run({"pip", "compile", "--quiet", "--no-header", "--no-build", "--format",
                           "pylock.toml", "--python", python, requirements.path()},
                          listener);
    return answer;
  }

  void make(const BuildRequest& request, const fs::path& version, Listener& listener,
            const OnPart& on_part) override {
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
      install(parts[i], version, listener);
      on_part({});
    }
  }

 private:
  void set(const std::string& name, const std::string& value) {
    process::set_variable(environment_, name + "=" + value);
  }

  /// Not among the arguments: an address may hold a password.
  void use_indexes(const SolveRequest& request) {
    if (!request.index.empty()) set("UV_DEFAULT_INDEX", request.index);
    std::string more;
    for (const std::string& one : request.more_indexes)
      more += (more.empty() ? "" : " ") + one;
    if (more.empty()) return;
    set("UV_INDEX", more);
    set("UV_INDEX_STRATEGY", "unsafe-best-match");
  }

  void make_python(const BuildRequest& request, const fs::path& version, Listener& listener) {
    const std::string python =
        has_archive() ? own_python(version, listener) : find_python(request.python, listener);
    const std::string found = python_version(python);
    if (found != request.python_version)
      throw Error(ErrorKind::conflict, python + " is Python " + found +
                                           ", and the lock was made for " + request.python_version +
                                           ": lock again");
    run({"venv", "--quiet", "--no-project", "--allow-existing", "--python", python,
         version.string()},
        listener);
    fs::create_directory(details_of(version));
  }

  void install(const std::string& part, const fs::path& version, const Listener& listener) const {
    const fs::path list = cache_ / "pylock.part.toml";
    fs::create_directories(cache_);
    write_atomically(list, part);
    run({"pip", "install", "--quiet", "--no-deps", "--no-build", "--python",
         (version / "bin/python").string(), "-r", list.string()},
        listener);
  }

  fs::path archive() const { return tools_ / "python.tar"; }
  bool has_archive() const { return fs::exists(archive()); }

  /// The environment's own copy, so that it goes where the environment goes.
  std::string own_python(const fs::path& version, Listener& listener) const {
    fs::create_directories(version / "python");
    copy_tree(unpacked_python(archive(), listener), version / "python", listener);
    return interpreter_in(version / "python").string();
  }

  /// The system's interpreter for "3.11", or the one at a path.
  std::string find_python(const std::string& wanted, const Listener& listener) const try {
    return without_end(run({"python", "find", "--no-project", "--system", wanted}, listener));
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::interrupted) throw;
    throw Error(ErrorKind::not_found,
                "there is no Python " + printable(wanted) +
                    " on this node: install it there, or give its archive as 'python' in env.yaml");
  }

  /// "uv 0.13.9"
  std::string version(const Listener& listener) const {
    const std::string said = without_end(run({"--version"}, listener));
    return said.substr(0, said.find(" ("));
  }

  std::string run(const std::vector<std::string>& words, const Listener& listener) const {
    Program program{.argv = {(tools_ / "uv").string()}, .environment = environment_};
    program.argv.insert(program.argv.end(), words.begin(), words.end());
    return output_of(program, listener);
  }

  fs::path tools_;
  fs::path cache_;
  std::vector<std::string> environment_;
};

}  // namespace

std::unique_ptr<PackageBuilder> uv_builder(const BuilderChoice& choice, const fs::path& cache) {
  return std::make_unique<UvBuilder>(choice, cache);
}

}  // namespace fastgpu::agent
