#include "agent/environments/uv_solving.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/environments/build_tools.hpp"
#include "agent/protocol/package_name.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

/// Returns the packages without a wheel that made uv fail, according to its message.
std::vector<std::string> packages_without_wheel(std::string_view said) {
  constexpr std::string_view kBefore = "Wheels are required for `";
  std::vector<std::string> packages;
  for (auto at = said.find(kBefore); at != said.npos; at = said.find(kBefore)) {
    said.remove_prefix(at + kBefore.size());
    packages.emplace_back(said.substr(0, said.find('`')));
  }
  return packages;
}

/// Returns `text` as a TOML string. `text` has no control characters.
std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// Returns the packages of a pylock.toml whose version is a pre-release.
std::vector<std::string> prereleases_in(std::string_view lock) {
  constexpr std::string_view kPackage = "[[packages]]\nname = \"";
  constexpr std::string_view kVersion = "\"\nversion = \"";
  std::vector<std::string> packages;
  for (auto at = lock.find(kPackage); at != lock.npos; at = lock.find(kPackage)) {
    lock.remove_prefix(at + kPackage.size());
    const std::string_view name = lock.substr(0, lock.find('"'));
    lock.remove_prefix(name.size());
    if (!lock.starts_with(kVersion)) continue;  // Of a wheel that is named by its place.
    lock.remove_prefix(kVersion.size());
    if (is_prerelease(lock.substr(0, lock.find('"')))) packages.emplace_back(name);
  }
  return packages;
}

/// A change to an installed environment in uv's report.
struct Change {
  std::string name;
  std::string version;
  bool is_installation = false;
};

/// Returns the next value of `key` in the JSON text, and removes the text up to its end. Names and
/// versions have no escapes.
std::string take_value(std::string_view& json, std::string_view key) {
  const std::string before = "\"" + std::string(key) + "\": \"";
  const auto at = json.find(before);
  if (at == json.npos) return "";
  json.remove_prefix(at + before.size());
  std::string value(json.substr(0, json.find('"')));
  json.remove_prefix(value.size());
  return value;
}

/// Parses the report of `uv pip install --dry-run --output-format json`.
std::vector<Change> changes_in(std::string_view report) {
  const auto list = report.find("\"changes\"");
  if (list == report.npos)
    throw Error(ErrorKind::remote,
                "uv has not reported what it would install: another version "
                "than the pinned one may be needed (--uv)");
  report.remove_prefix(list);
  std::vector<Change> changes;
  for (std::string name = take_value(report, "name"); !name.empty();
       name = take_value(report, "name")) {
    std::string version = take_value(report, "version");
    changes.push_back(
        {std::move(name), std::move(version), take_value(report, "action") == "installed"});
  }
  return changes;
}

/// Returns the requirements of exactly the installations among `changes`: of a wheel that `wanted`
/// names by its address, that line.
std::vector<std::string> pinned(const std::vector<Change>& changes,
                                const std::vector<std::string>& wanted) {
  const auto names_place = [](const std::string& line, const std::string& project) {
    const auto end = line.find_first_of(" \t[@");
    const auto at = line.find('@');
    return at != line.npos && line.find("://", at) != line.npos &&
           normalized_package_name(line.substr(0, end)) == normalized_package_name(project);
  };
  std::vector<std::string> lines;
  for (const Change& change : changes) {
    if (!change.is_installation) continue;
    const auto named = std::ranges::find_if(
        wanted, [&](const std::string& line) { return names_place(line, change.name); });
    lines.push_back(named == wanted.end() ? change.name + "==" + change.version : *named);
  }
  return lines;
}

/// Throws for the first package that would be replaced.
void check_additions(const std::vector<Change>& changes) {
  for (const Change& removed : changes) {
    if (removed.is_installation) continue;
    const auto fresh = std::ranges::find_if(changes, [&](const Change& change) {
      return change.is_installation && change.name == removed.name;
    });
    throw Error(ErrorKind::remote,
                "the wheels under 'pip' need " + removed.name +
                    (fresh == changes.end() ? "" : " " + fresh->version) +
                    " in place of the conda package's " + removed.version +
                    ": name a version of it under 'packages' that suits both, or another version "
                    "of the wheel that requires it");
  }
}

enum class Dependencies : std::uint8_t { added, left_out };
enum class Prereleases : std::uint8_t { if_necessary, refused };

class Solving {
 public:
  Solving(const Uv& uv, const SolveRequest& request, const std::string& python,
          const Listener& listener, Dependencies dependencies = Dependencies::added,
          Prereleases prereleases = Prereleases::if_necessary)
      : uv_(uv),
        request_(request),
        python_(python),
        listener_(listener),
        dependencies_(dependencies),
        prereleases_(prereleases),
        folder_(EnvironmentPlaces{request.prefix}.own() /
                ((prereleases == Prereleases::refused ? "probing." : "solving.") +
                 std::to_string(::getpid()))),
        requirements_(request.index_for.empty()
                          ? TextFile(folder_.path() / "requirements.in", lines_of(request.packages))
                          : TextFile(folder_.path() / "pyproject.toml", project_of(request))) {}

  UvSolution run() {
    for (;;)
      try {
        UvSolution solution{compile(), tools_};
        check_prereleases(prereleases_in(solution.packages));
        return solution;
      } catch (const Error& e) {
        const auto lacking = packages_without_wheel(e.what());
        if (lacking.empty()) throw;
        const auto next = std::ranges::find_if(
            lacking, [&](const std::string& package) { return may_be_built(package); });
        if (next == lacking.end()) throw explained(e, lacking.front());
        built_.push_back(*next);
        get_tools();
      }
  }

  /// Returns the changes that the requirements would make to the environment of the Python.
  std::vector<Change> changes() const {
    return changes_in(
        uv_.run({"pip", "install", "--dry-run", "--output-format", "json", "--no-build",
                 "--break-system-packages", "--python", python_, "-r", requirements_.path()},
                listener_));
  }

 private:
  static std::string lines_of(const std::vector<std::string>& packages) {
    std::string text;
    for (const std::string& package : packages)
      text += package + "\n";
    return text;
  }

  /// Returns a project file for uv: only in a project can a package be assigned to an index.
  static std::string project_of(const SolveRequest& request) {
    std::string text =
        "[project]\nname = \"fastgpu-environment\"\nversion = \"0\"\ndependencies = [\n";
    for (const std::string& package : request.packages)
      text += "  " + toml_text(package) + ",\n";
    text += "]\n\n[tool.uv.sources]\n";
    for (std::size_t i = 0; i < request.index_for.size(); ++i)
      text += normalized_package_name(request.index_for[i].package) +
              " = { index = " + toml_text(index_name(i)) + " }\n";
    for (std::size_t i = 0; i < request.index_for.size(); ++i)
      text += "\n[[tool.uv.index]]\nname = " + toml_text(index_name(i)) +
              "\nurl = " + toml_text(request.index_for[i].address) + "\nexplicit = true\n";
    return text;
  }

  static Error explained(const Error& e, const std::string& package) {
    return e.during("no wheel of " + package +
                    " fits; to have it built from its source, name it in env.yaml, sources: [" +
                    package + "]");
  }

  /// Returns true if a package may be built now. Each package is tried once, because a second
  /// attempt would not help.
  bool may_be_built(const std::string& package) const {
    return contains(request_.sources, package) && !contains(built_, package);
  }

  void get_tools() {
    if (venv_) return;
    tools_ = solve_build_tools(uv_, python_, listener_);
    venv_.emplace(uv_, python_, tools_,
                  uv_.cache() / ("solving-tools." + std::to_string(::getpid())), listener_);
  }

  /// Throws as uv does if a package has no wheels, for a package that was taken in a pre-release
  /// because its releases have none.
  void check_prereleases(const std::vector<std::string>& packages) const {
    if (prereleases_ == Prereleases::refused) return;
    for (const std::string& package : packages) {
      const bool is_wanted = std::ranges::any_of(request_.packages, [&](const std::string& line) {
        const auto end = std::min(line.find_first_of(" \t[<>=!~;@("), line.size());
        return normalized_package_name(line.substr(0, end)) == package &&
               is_prerelease(line.substr(end, line.find(';') - end));
      });
      if (is_wanted || contains(built_, package)) continue;
      SolveRequest alone = request_;
      alone.packages = {package};
      try {
        Solving(uv_, alone, python_, listener_, Dependencies::left_out, Prereleases::refused)
            .compile();
      } catch (const Error& e) {
        if (contains(packages_without_wheel(e.what()), package)) throw;
        // All its versions are pre-releases.
      }
    }
  }

  std::string compile() const {
    std::vector<std::string> words = {"pip",      "compile",     "--quiet", "--no-header",
                                      "--format", "pylock.toml", "--python"};
    if (built_.empty()) {
      words.insert(words.end(), {python_, "--no-build"});
    } else {
      words.insert(words.end(),
                   {venv_->python(), "--no-build-isolation", "--only-binary", ":all:"});
      for (const std::string& package : built_)
        words.insert(words.end(), {"--no-binary", package});
    }
    if (prereleases_ == Prereleases::refused)
      words.insert(words.end(), {"--prerelease", "disallow"});
    if (dependencies_ == Dependencies::left_out) words.emplace_back("--no-deps");
    words.push_back(requirements_.path());
    return uv_.run(words, listener_);
  }

  const Uv& uv_;
  const SolveRequest& request_;
  const std::string& python_;
  const Listener& listener_;
  Dependencies dependencies_;
  Prereleases prereleases_;
  // uv reads a project from a file of a fixed name, which needs a folder of its own.
  ScratchFolder folder_;
  TextFile requirements_;
  std::vector<std::string> built_;
  std::string tools_;
  std::optional<BuildTools> venv_;
};

}  // namespace

UvSolution solve_by_uv(const Uv& uv, const SolveRequest& request, const std::string& python,
                       const Listener& listener) {
  return Solving(uv, request, python, listener).run();
}

std::string solve_beside(const Uv& uv, const SolveRequest& request, const std::string& python,
                         const Listener& listener) {
  SolveRequest beside = request;
  beside.packages = request.wheels;
  const auto changes = Solving(uv, beside, python, listener).changes();
  check_additions(changes);
  beside.packages = pinned(changes, request.wheels);
  if (beside.packages.empty()) return "";
  return Solving(uv, beside, python, listener, Dependencies::left_out).run().packages;
}

}  // namespace fastgpu::agent
