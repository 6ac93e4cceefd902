#include "agent/environments/uv_solving.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/environments/build_tools.hpp"
#include "agent/protocol/package_name.hpp"
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

class Solving {
 public:
  Solving(const Uv& uv, const SolveRequest& request, const std::string& python,
          const Listener& listener)
      : uv_(uv),
        request_(request),
        python_(python),
        listener_(listener),
        folder_(EnvironmentPlaces{request.prefix}.own() /
                ("solving." + std::to_string(::getpid()))),
        requirements_(request.index_for.empty()
                          ? TextFile(folder_.path() / "requirements.in", lines_of(request.packages))
                          : TextFile(folder_.path() / "pyproject.toml", project_of(request))) {}

  UvSolution run() {
    for (;;)
      try {
        return {compile(), tools_};
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
    return std::ranges::find(request_.sources, package) != request_.sources.end() &&
           std::ranges::find(built_, package) == built_.end();
  }

  void get_tools() {
    if (venv_) return;
    tools_ = solve_build_tools(uv_, python_, listener_);
    venv_.emplace(uv_, python_, tools_,
                  uv_.cache() / ("solving-tools." + std::to_string(::getpid())), listener_);
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
    words.push_back(requirements_.path());
    return uv_.run(words, listener_);
  }

  const Uv& uv_;
  const SolveRequest& request_;
  const std::string& python_;
  const Listener& listener_;
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

}  // namespace fastgpu::agent
