#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "base/files.hpp"
#include "base/pulse.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_tools.hpp"
#include "cli/commands/shared/out_file.hpp"
#include "remote/exec.hpp"

namespace fastgpu::cli {
namespace {

/// Starts the command in the home directory: a startup file of the login shell may have changed the
/// directory.
constexpr const char* kFromHome = R"(exec "$HOME/$0" "$@")";

struct EnvPackOptions {
  EnvTarget target;
  std::string name;
  OutFile out;
};

/// An output file that is either complete or absent.
class Archive final : public remote::OutputSink {
 public:
  explicit Archive(const OutFile& out)
      : out_(out), draft_(out.path + ".partial"), file_(make_new(draft_)) {
    if (!file_) throw system_error("making " + draft_.string(), errno);
  }
  ~Archive() override {
    std::error_code ignored;
    std::filesystem::remove(draft_, ignored);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  void output(std::size_t, remote::OutputChannel channel, std::string_view text) override {
    if (channel == remote::OutputChannel::err) {
      said_ += text.substr(0, kMostSaid - std::min(said_.size(), kMostSaid));
      return;
    }
    bytes_ += text.size();
    write_all(file_.get(), text, "writing " + draft_.string());
  }

  void finish() {
    if (::fsync(file_.get()) != 0) throw system_error("writing " + draft_.string(), errno);
    publish_out_file(draft_, out_);
  }

  const std::string& said() const noexcept { return said_; }
  Bytes bytes() const noexcept { return {bytes_}; }

 private:
  static constexpr std::size_t kMostSaid = 64UL << 10;

  /// Creates a new file. An existing file of that name, such as another user's symbolic link, is
  /// removed first and not followed.
  static int make_new(const std::filesystem::path& draft) {
    ::unlink(draft.c_str());
    return ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  }

  const OutFile& out_;
  std::filesystem::path draft_;
  UniqueFd file_;
  std::string said_;
  std::uint64_t bytes_ = 0;
};

/// Returns why `env unpack` would refuse the archive; "" if it would not. Thus a faulty archive is
/// found while the nodes still have the environment.
std::string objection_to(Context& context, const std::string& archive) try {
  envs::check_archive(archive, context.cancel());
  return "";
} catch (const Error& e) {
  if (e.kind() == ErrorKind::interrupted) throw;
  return e.what();
}

View view_of(const EnvBuild& build, const EnvPackOptions& options, Bytes bytes,
             const std::string& objection) {
  View view;
  view.root = document("environment-archive");
  view.root["name"] = options.name;
  view.root["version"] = build.version;
  view.root["node"] = build.host.name.value;
  view.root["file"] = options.out.path;
  view.root["bytes"] = bytes.count;
  view.root["objection"] = objection.empty() ? Json(nullptr) : Json(objection);
  view.names = {options.out.path};
  return view;
}

int run(Context& context, const EnvPackOptions& options) {
  check_out_file(options.out);
  EnvCluster cluster(context, options.target);
  const EnvBuild build = complete_builds(cluster, options.name).front();
  Archive archive(options.out);
  const std::vector<std::string> argv = {"/bin/sh",
                                         "-c",
                                         kFromHome,
                                         remote::agent_path(context.agent().hash),
                                         "env-pack",
                                         build.directory.parent_path().string(),
                                         build.directory.filename().string()};
  const auto done =
      remote::exec_everywhere(context.ssh(), {&build.host, 1}, argv, context.agent(),
                              {.delivery = remote::Delivery::pieces}, archive, context.cancel());
  if (!done[0].ok()) throw Error(done[0].error());
  if (const int code = done[0].value().exit.code(); code != 0)
    throw Error(ErrorKind::remote, build.host.name.value + ": packing ended with " +
                                       std::to_string(code) + ": " +
                                       printable(without_pulses(archive.said()), 300));
  archive.finish();
  context.ui().note("packed " + options.name + ": " + to_string(archive.bytes()) + " in " +
                    options.out.path);
  const std::string objection = objection_to(context, options.out.path);
  if (!objection.empty()) context.ui().warn("fastgpu env unpack would refuse it: " + objection);
  if (!context.ui().for_people())
    context.ui().show(view_of(build, options, archive.bytes(), objection));
  return 0;
}

}  // namespace

Action make_env_pack_command(Arguments& arguments) {
  auto options = std::make_shared<EnvPackOptions>();
  describe_named_environment(arguments, options->name, options->target);
  describe_out_file(arguments, "Write the archive to this file [train.tar.zst]", options->out)
      .required = true;
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
