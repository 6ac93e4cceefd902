#include "agent/environments/uv.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/disk.hpp"
#include "agent/environments/node.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {

namespace fs = std::filesystem;

Uv::Uv(const BuilderChoice& choice, fs::path cache)
    : program_(fs::path(choice.tools) / "uv"),
      cache_(std::move(cache)),
      environment_(plain_environment()) {
  set("UV_CACHE_DIR", cache_.string());
  // Where it builds it leaves the files of its locks.
  const fs::path scratch = cache_ / "tmp";
  fs::create_directories(scratch);
  set("TMPDIR", scratch.string());
  set("UV_NO_CONFIG", "1");
  set("UV_NO_PROGRESS", "1");
  set("UV_PYTHON_DOWNLOADS", "never");
  set("UV_PYTHON_PREFERENCE", "only-system");
  set("UV_PREVIEW_FEATURES", "pylock");
  set("UV_HTTP_TIMEOUT", std::to_string(choice.patience.count()));
}

void Uv::set(const std::string& name, const std::string& value) {
  process::set_variable(environment_, name + "=" + value);
}

std::string Uv::run(const std::vector<std::string>& words, const Listener& listener) const {
  Program program{.argv = {program_.string()}, .environment = environment_};
  program.argv.insert(program.argv.end(), words.begin(), words.end());
  return output_of(program, listener);
}

std::string Uv::version(const Listener& listener) const {
  const std::string said = run({"--version"}, listener);
  return said.substr(0, std::min(said.find(" ("), said.find('\n')));
}

TextFile::TextFile(fs::path path, const std::string& text) : path_(std::move(path)) {
  write_atomically(path_, text);
}

TextFile::~TextFile() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

void install_wheels(const Uv& uv, const std::string& pylock, const fs::path& python,
                    const Listener& listener) {
  fs::create_directories(uv.cache());
  // One may solve while another builds.
  const TextFile list(uv.cache() / ("pylock.part" + std::to_string(::getpid()) + ".toml"), pylock);
  uv.run({"pip", "install", "--quiet", "--no-deps", "--no-build", "--python", python.string(), "-r",
          list.path()},
         listener);
}

}  // namespace fastgpu::agent
