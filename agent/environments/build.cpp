// `env-build`: one build of an environment out of a lock, on the one node that builds.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "agent/disk.hpp"
#include "agent/environments/builder.hpp"
#include "agent/environments/call.hpp"
#include "agent/environments/manifest.hpp"
#include "agent/environments/modules.hpp"
#include "agent/environments/node.hpp"
#include "agent/environments/place.hpp"
#include "agent/subcommands.hpp"
#include "base/fault_point.hpp"
#include "base/names.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// The agent of a client that was killed notices at its next word, and then clears up.
constexpr std::chrono::milliseconds kPatience{20'000};
constexpr time_t kTime = 946'684'800;  // Of all files: the first second of 2000, in UTC.
constexpr unsigned kReadable = 0644;
constexpr unsigned kRunnable = 0755;

class Build {
 public:
  Build(const BuildRequest& request, Listener& listener)
      : request_(request),
        listener_(listener),
        places_{request.prefix},
        version_(places_.version(request.name, request.version)),
        cache_(places_.own() / "cache") {}

  std::string run() {
    if (const std::string sum = manifest_sum(version_); !sum.empty()) return sum;
    try {
      const std::string sum = make();
      fs::remove_all(cache_);
      return sum;
    } catch (const std::exception& failure) {
      discard(failure);
      throw;
    }
  }

 private:
  /// The manifest's sum.
  std::string make() {
    fs::remove_all(version_);  // Of a build that was killed.
    fs::create_directories(version_.parent_path());
    listener_.tell("making the environment");
    package_builder(request_.builder, cache_)->make(request_, version_, listener_);
    fault_point("env-build-packages");
    set_times();
    listener_.tell("compiling modules");
    compile_modules(version_, request_.python_version, listener_);
    add_common();
    show_to_python();
    write_details();
    run_post_install();
    listener_.tell("computing sums");
    set_times();
    return write_manifest(version_);
  }

  /// A part of a build is of no use. What has been downloaded is, where the same command may yet go
  /// on with it: after a Ctrl-C, or an index that said nothing.
  void discard(const std::exception& failure) const {
    const auto* const error = dynamic_cast<const Error*>(&failure);
    std::error_code ignored;
    fs::remove_all(version_, ignored);
    if (error == nullptr ||
        (error->kind() != ErrorKind::interrupted && error->kind() != ErrorKind::timeout))
      fs::remove_all(cache_, ignored);
  }

  /// All files are as old as each other: two builds have the same packages in the same files, and
  /// bytecode, which knows how old its module is, too.
  void set_times() const {
    const timespec times[2] = {{kTime, 0}, {kTime, 0}};
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(version_))
      if (!entry.is_symlink() && entry.is_regular_file() &&
          ::utimensat(AT_FDCWD, entry.path().c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
        throw system_error("setting the time of " + entry.path().string(), errno);
  }

  /// What every environment gets beside its packages.
  void add_common() {
    if (fs::exists(request_.common)) copy_tree(request_.common, version_, listener_);
  }

  /// What lies in lib/fastgpu/python can be imported, whichever Python it is.
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
    listener_.tell("running " + command.front());
    std::vector<std::string> argv = {(details_of(version_) / "run").string()};
    argv.insert(argv.end(), command.begin(), command.end());
    output_of({.argv = argv, .environment = process::current_environment()}, listener_);
  } catch (const Error& e) {
    throw e.during("post_install: " + printable(command.front()));
  }

  const BuildRequest& request_;
  Listener& listener_;
  EnvironmentPlaces places_;
  fs::path version_;
  fs::path cache_;
};

}  // namespace

int run_env_build(Arguments) {
  return run_call([] {
    const BuildRequest request = parse_build_request(read_request());
    check_environment_name(request.name);
    check_environment_name(request.version);
    ::umask(022);  // Whoever logs in may use it.
    Listener listener;
    const UniqueFd lock = lock_prefix({request.prefix}, kPatience);
    VerifyAnswer answer;
    answer.manifest = Build(request, listener).run();
    write_answer(to_records(answer));
  });
}

}  // namespace fastgpu::agent
