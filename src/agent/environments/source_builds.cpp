#include "agent/environments/source_builds.hpp"

#include <fcntl.h>

#include <cerrno>
#include <deque>
#include <sstream>
#include <utility>

#include "agent/environments/build_tools.hpp"
#include "agent/environments/node.hpp"
#include "agent/environments/pylock.hpp"
#include "base/error.hpp"
#include "base/hex.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/unique_fd.hpp"
#include "process/capture.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kLongestBuild = 1h;  // The time limit for one package.
constexpr Bytes kMostBuildOutput{64 << 20};
constexpr std::size_t kLinesShown = 12;
constexpr std::size_t kMostOfALine = 300;
constexpr const char* kZip = ".zip";

struct Source {
  std::string package;
  std::string version;
  fs::path archive;
};

/// Returns the last messages of the package's own build, on one line.
std::string last_words(const process::Captured& done) {
  std::istringstream lines(done.out + done.err);
  std::deque<std::string> last;
  for (std::string line;
       std::getline(lines, line) && !line.starts_with("error: Failed to build");) {
    if (line.find_first_not_of(" \t\r") == line.npos || line == "Building wheel...") continue;
    last.push_back(printable(line.substr(line.find_first_not_of(" \t")), kMostOfALine));
    if (last.size() > kLinesShown) last.pop_front();
  }
  return joined(last, " | ");
}

class SourceBuilds {
 public:
  SourceBuilds(const Uv& uv, const BuildRequest& request, const fs::path& version,
               Listener& listener)
      : uv_(uv),
        request_(request),
        python_(version / "bin/python"),
        listener_(listener),
        // A fixed path, because compilers record it.
        work_(uv.cache() / "sources") {
    uv_.forget_logins();
    // Makes builds reproducible.
    uv_.set("SOURCE_DATE_EPOCH", "946684800");
    uv_.set("PYTHONHASHSEED", "0");
    uv_.set("UV_NO_INSTALLER_METADATA", "1");  // The metadata would contain the time of the build.
    uv_.set("UV_OFFLINE", "1");
  }

  void run(const std::vector<std::string>& texts) {
    std::vector<Source> sources;
    for (const std::string& text : texts)
      sources.push_back(checked(text));
    const BuildTools tools(uv_with_network(), python_.string(), request_.build_tools,
                           uv_.cache() / "build-tools", listener_);
    for (const Source& source : sources) {
      listener_.tell("building " + source.package + " " + source.version + " from its source");
      build(source, tools);
      install(source);
    }
  }

 private:
  /// Returns a Uv that downloads build tools as it does wheels.
  Uv uv_with_network() const {
    Uv uv(request_.builder, uv_.cache());
    uv.use_logins();
    return uv;
  }

  Source checked(const std::string& text) const {
    const LockedPackage package = packages_in(text).back();
    const std::string sum = sum_of_archive(text);
    fs::path archive = fs::path(request_.source_files) / sum;
    if (!fs::exists(archive)) archive += kZip;
    const UniqueFd file(::open(archive.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) throw system_error("opening " + archive.string(), errno);
    if (hex(transfer::sum_of_file(file.get(), archive.string())) != sum)
      throw Error(ErrorKind::remote,
                  archive.string() + " was changed: it is not the source of " + package.name);
    return {.package = package.name, .version = package.version, .archive = archive};
  }

  static std::string sum_of_archive(const std::string& text) {
    constexpr std::string_view kBefore = "sha256 = \"";
    constexpr std::size_t kDigits = 64;
    const auto at = text.find(kBefore);
    return at == text.npos ? "" : text.substr(at + kBefore.size(), kDigits);
  }

  fs::path place_of(const Source& source) const { return work_.path() / source.package; }
  fs::path wheels_of(const Source& source) const {
    return work_.path() / (source.package + ".wheels");
  }

  void build(const Source& source, const BuildTools& tools) const {
    process::Command command{.argv = {uv_.program().string(), "build", "--wheel",
                                      "--no-build-isolation", "--no-create-gitignore", "--python",
                                      tools.python(), "--out-dir", wheels_of(source).string(),
                                      unpacked(source, tools).string()}};
    command.environment = uv_.environment();
    const auto done =
        process::capture(std::move(command), {.limit = kMostBuildOutput, .timeout = kLongestBuild},
                         listener_.gone());
    if (done.status.ok()) return;
    const std::string said = last_words(done);
    const bool is_full = said.find("No space left") != said.npos;
    throw Error(is_full ? ErrorKind::capacity : ErrorKind::remote,
                source.package + " " + source.version +
                    " cannot be built from its source with setuptools and wheel alone: " + said);
  }

  /// Unpacks the archive. Returns the directory with its setup.py or pyproject.toml.
  fs::path unpacked(const Source& source, const BuildTools& tools) const {
    const fs::path place = place_of(source);
    fs::create_directory(place);
    const std::string archive = source.archive.string();
    const bool is_zip = source.archive.extension() == kZip;
    const std::vector<std::string> argv =
        is_zip ? std::vector<std::string>{tools.python(), "-I",    "-m",          "zipfile",
                                          "-e",           archive, place.string()}
               : std::vector<std::string>{"tar", "-xf",          archive,
                                          "-C",  place.string(), "--no-same-owner"};
    output_of({.argv = argv, .environment = uv_.environment()}, listener_);
    const std::vector<fs::directory_entry> found(fs::directory_iterator{place},
                                                 fs::directory_iterator{});
    return found.size() == 1 && found.front().is_directory() ? found.front().path() : place;
  }

  void install(const Source& source) const {
    uv_.run({"pip", "install", "--quiet", "--no-deps", "--no-build", "--no-index", "--find-links",
             wheels_of(source).string(), "--python", python_.string(),
             source.package + "==" + source.version},
            listener_);
  }

  Uv uv_;  // A copy with variables of its own.
  const BuildRequest& request_;
  fs::path python_;
  Listener& listener_;
  ScratchFolder work_;
};

}  // namespace

void build_from_source(const Uv& uv, const BuildRequest& request,
                       const std::vector<std::string>& sources, const fs::path& version,
                       Listener& listener) {
  if (!sources.empty()) SourceBuilds(uv, request, version, listener).run(sources);
}

}  // namespace fastgpu::agent
