#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/env_tools.hpp"
#include "cli/commands/output_file.hpp"
#include "remote/exec.hpp"

namespace fastgpu::cli {
namespace {

struct Options {
  EnvTarget target;
  std::string name;
  OutputFile archive;
};

/// A file that is there whole or not at all.
class Archive final : public remote::OutputSink {
 public:
  explicit Archive(std::filesystem::path path)
      : path_(std::move(path)),
        draft_(path_.string() + ".partial"),
        file_(::open(draft_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (!file_) throw system_error("making " + draft_.string(), errno);
  }
  ~Archive() override {
    std::error_code ignored;
    std::filesystem::remove(draft_, ignored);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  void output(std::size_t, remote::Channel channel, std::string_view text) override {
    if (channel == remote::Channel::err) {
      said_ += text;
      return;
    }
    bytes_ += text.size();
    while (!text.empty()) {
      const ssize_t put = ::write(file_.get(), text.data(), text.size());
      if (put < 0 && errno != EINTR) throw system_error("writing " + draft_.string(), errno);
      if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
    }
  }

  void finish() {
    if (::fsync(file_.get()) != 0) throw system_error("writing " + draft_.string(), errno);
    std::filesystem::rename(draft_, path_);
  }

  const std::string& said() const noexcept { return said_; }
  Bytes bytes() const noexcept { return {bytes_}; }

 private:
  std::filesystem::path path_;
  std::filesystem::path draft_;
  UniqueFd file_;
  std::string said_;
  std::uint64_t bytes_ = 0;
};

/// Read once more: what does not come back is better known while the nodes have it.
void warn_of_refusal(Context& context, const std::string& archive) try {
  envs::check_archive(archive, context.cancel());
} catch (const Error& e) {
  if (e.kind() == ErrorKind::interrupted) throw;
  context.ui().warn("fastgpu env unpack would refuse it: " + std::string(e.what()));
}

int run(Context& context, const Options& options) {
  check_output_file(options.archive);
  EnvCluster cluster(context, options.target);
  const EnvBuild build = complete_builds(cluster, options.name).front();
  Archive archive(options.archive.path);
  const std::vector<std::string> argv = {remote::agent_path(context.agent().hash), "env-pack",
                                         build.directory.parent_path().string(),
                                         build.directory.filename().string()};
  const auto done =
      remote::exec_everywhere(context.ssh(), {&build.host, 1}, argv, context.agent(),
                              {.delivery = remote::Delivery::pieces}, archive, context.cancel());
  if (!done[0].ok()) throw Error(done[0].error());
  if (const int code = done[0].value().exit.code(); code != 0)
    throw Error(ErrorKind::remote, build.host.name.value + ": packing ended with " +
                                       std::to_string(code) + ": " +
                                       printable(archive.said(), 300));
  archive.finish();
  context.ui().note("packed " + options.name + ": " + to_string(archive.bytes()) + " in " +
                    options.archive.path);
  warn_of_refusal(context, options.archive.path);
  return 0;
}

}  // namespace

Action describe_env_pack(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.text("NAME", "", "The environment", options->name).required = true;
  describe_env_target(arguments, options->target);
  describe_output_file(arguments, "Where the archive goes: .tar.zst", options->archive).required =
      true;
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
