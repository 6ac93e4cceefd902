// `env-build`: one build of an environment from a lock, on the only node that builds.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <unordered_set>

#include "agent/environments/builder.hpp"
#include "agent/environments/checked.hpp"
#include "agent/environments/early_copy.hpp"
#include "agent/environments/environment_call.hpp"
#include "agent/environments/manifest.hpp"
#include "agent/environments/modules.hpp"
#include "agent/environments/node.hpp"
#include "agent/environments/place.hpp"
#include "agent/files/disk.hpp"
#include "agent/subcommands.hpp"
#include "base/fault_point.hpp"
#include "base/names.hpp"
#include "base/quote.hpp"
#include "process/command.hpp"
#include "transfer/staging.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// How long to wait for another agent. An agent whose client was killed notices that at its next
/// message, and then cleans up.
constexpr std::chrono::milliseconds kTimeout{20'000};
constexpr unsigned kReadable = 0644;
constexpr unsigned kRunnable = 0755;

/// Returns the path, without its ending, of the module whose bytecode is in `path`; "" for other
/// files.
std::string module_of(const fs::path& path) {
  const fs::path cache = path.parent_path();
  if (cache.filename() != "__pycache__") return "";
  const std::string name = path.filename().string();
  return (cache.parent_path() / name.substr(0, name.find('.'))).string();
}

/// Makes a build. While some packages are downloaded, the modules of earlier ones are compiled, and
/// finished files are copied to other nodes.
class Build {
 public:
  Build(const BuildRequest& request, Listener& listener)
      : request_(request),
        listener_(listener),
        places_{request.prefix},
        version_(places_.version(request.name, request.version)),
        cache_(places_.own() / "cache"),
        copy_(version_, request.way) {}

  BuildAnswer run() {
    if (const std::string sum = manifest_sum(version_); !sum.empty()) return {sum, {}, {}};
    std::string manifest;
    try {
      manifest = make();
      fs::remove_all(cache_);
      // They are left from a time when another node was the builder.
      transfer::drop_kept_copies(version_.parent_path());
    } catch (const std::exception& failure) {
      discard(failure);
      throw;
    }
    return {manifest, copy_.finish(listener_), warnings_};
  }

 private:
  /// Builds the environment and returns the SHA-256 of its manifest.
  std::string make() {
    fs::remove_all(version_);  // A leftover of a killed build.
    fs::create_directories(version_.parent_path());
    listener_.tell("making the environment");
    const auto builder = package_builder(request_.builder, cache_);
    builder->make(request_, version_, listener_,
                  [this](const KnownSums& known) { take_part(known); });
    fault_point("env-build-packages");
    if (compiled_.valid()) {
      listener_.tell("compiling modules");
      compiled_.get();
    }
    settle(*builder);
    show_to_python();
    write_details();
    run_post_install();
    listener_.tell("computing sums");
    if (request_.post_install.empty() && warnings_.empty()) known_.merge(copy_.sums());
    set_times();
    std::string manifest = write_manifest(version_, known_);
    note_checked(version_, manifest);
    return manifest;
  }

  /// Handles files that several packages contain. Checksums of changed files become invalid,
  /// including those that were sent to other nodes.
  void settle(PackageBuilder& builder) {
    const SettledFiles settled = builder.settle(request_, version_, listener_);
    warnings_ = settled.warnings;
    if (warnings_.empty()) return;
    copy_.give_up();
    known_.clear();
    if (!request_.has_bytecode) return;
    for (const fs::path module : settled.modules) {
      set_build_time(version_ / module);  // The bytecode contains this time.
      remove_bytecode(version_ / module);
    }
    for (const std::string& file :
         compile_modules(version_, request_.python_version, settled.modules, listener_))
      set_build_time(version_ / file);
  }

  static void remove_bytecode(const fs::path& module) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(module.parent_path() / "__pycache__", none))
      if (module_of(entry.path()) == fs::path(module).replace_extension())
        fs::remove(entry.path(), none);
  }

  /// Handles a new part. First waits until the previous part is compiled: compiling two at a time
  /// would gain little.
  void take_part(const KnownSums& known) {
    if (compiled_.valid()) compiled_.get();
    if (seen_.empty()) add_common();
    known_.insert(known.begin(), known.end());
    auto fresh = fresh_files();
    for (const std::string& file : fresh)
      set_build_time(version_ / file);
    copy_.start();
    copy_.offer(fresh);
    if (!request_.has_bytecode) return;
    leave_out_compiled(fresh, known);
    compiled_ = std::async(std::launch::async, [this, files = std::move(fresh)] {
      const auto made = compile_modules(version_, request_.python_version, files, listener_);
      for (const std::string& file : made)
        set_build_time(version_ / file);
      copy_.offer(made);
    });
  }

  /// Removes the modules whose bytecode was taken from an earlier build.
  static void leave_out_compiled(std::vector<std::string>& files, const KnownSums& known) {
    std::unordered_set<std::string> compiled;
    for (const auto& [path, sum] : known)
      compiled.insert(module_of(path));
    std::erase_if(files, [&](const fs::path& file) {
      return file.extension() == ".py" && compiled.contains(fs::path(file).replace_extension());
    });
  }

  /// Returns the files that were added since the last call, except for bytecode and our own files.
  std::vector<std::string> fresh_files() {
    std::vector<std::string> fresh;
    for (auto entry = fs::recursive_directory_iterator(version_);
         entry != fs::recursive_directory_iterator(); ++entry) {
      const fs::path& path = entry->path();
      if (entry->is_symlink()) continue;
      if (entry->is_directory()) {
        if (path == details_of(version_) || path.filename() == "__pycache__")
          entry.disable_recursion_pending();
      } else if (auto name = path.string().substr(version_.string().size() + 1);
                 entry->is_regular_file() && seen_.insert(name).second) {
        fresh.push_back(std::move(name));
      }
    }
    std::ranges::sort(fresh);
    return fresh;
  }

  /// Removes the incomplete build, which is useless. Keeps the downloads if the same command may
  /// resume: after a Ctrl-C, or if an index did not answer.
  void discard(const std::exception& failure) {
    if (compiled_.valid()) compiled_.wait();
    const auto* const error = dynamic_cast<const Error*>(&failure);
    const bool may_go_on = error != nullptr && (error->kind() == ErrorKind::interrupted ||
                                                error->kind() == ErrorKind::timeout);
    std::error_code ignored;
    if (!may_go_on) copy_.give_up();
    if (!may_go_on) fs::remove_all(cache_, ignored);
    fs::remove_all(version_, ignored);
  }

  /// Gives all files the same time. So two builds with the same packages have the same files and
  /// the same bytecode, which contains its module's time. A file with another time in another build
  /// was changed later.
  void set_times() {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(version_)) {
      struct stat status {};
      if (entry.is_symlink() || !entry.is_regular_file() ||
          ::lstat(entry.path().c_str(), &status) != 0 || has_build_time(status))
        continue;
      known_.erase(entry.path().string().substr(version_.string().size() + 1));
      set_build_time(entry.path());
    }
  }

  /// Adds the files that every environment gets.
  void add_common() {
    if (fs::exists(request_.common)) copy_tree(request_.common, version_, listener_);
  }

  /// Makes lib/fastgpu/python importable in every Python of the build.
  void show_to_python() {
    for (const fs::directory_entry& python : fs::directory_iterator(version_ / "lib")) {
      const fs::path packages = python.path() / "site-packages";
      if (python.path().filename().string().starts_with("python") && fs::exists(packages))
        write_atomically(packages / "fastgpu.pth", "../../fastgpu/python\n", kReadable);
    }
  }

  void write_details() {
    const fs::path details = details_of(version_);
    write_atomically(details / "env.yaml", request_.recipe, kReadable);
    write_atomically(details / "env.lock", request_.lock, kReadable);
    write_atomically(details / "activate.sh", request_.activate, kReadable);
    write_atomically(details / "run", request_.run, kRunnable);
  }

  void run_post_install() {
    for (const auto& command : request_.post_install)
      run_in_it(command);
  }

  void run_in_it(const std::vector<std::string>& command) try {
    const std::string name = printable(shell_join(command));
    listener_.tell("running " + name);
    std::vector<std::string> argv = {(details_of(version_) / "run").string()};
    argv.insert(argv.end(), command.begin(), command.end());
    output_of({.argv = argv, .environment = process::current_environment(), .name = name},
              listener_);
  } catch (const Error& e) {
    throw e.during("post_install");
  }

  const BuildRequest& request_;
  Listener& listener_;
  EnvironmentPlaces places_;
  fs::path version_;
  fs::path cache_;
  EarlyCopy copy_;
  std::unordered_set<std::string> seen_;
  KnownSums known_;  // The checksums of files that need not be read any more.
  std::vector<std::string> warnings_;
  std::future<void> compiled_;  // Its destructor waits.
};

}  // namespace

int run_env_build(Arguments) {
  return run_call([] {
    const BuildRequest request = parse_build_request(read_request());
    check_environment_name(request.name);
    check_environment_name(request.version);
    ::umask(022);  // Every user may use it.
    Listener listener;
    const UniqueFd lock = lock_prefix({request.prefix}, kTimeout);
    write_answer(to_records(Build(request, listener).run()));
  });
}

}  // namespace fastgpu::agent
