#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/chosen_place.hpp"
#include "base/files.hpp"
#include "base/quote.hpp"
#include "base/unique_fd.hpp"
#include "cli/commands/commands.hpp"
#include "cli/program/context.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::string_view kClusterFile =
#include "templates/cluster.inc"
    ;
constexpr std::string_view kJobFile =
#include "templates/job.inc"
    ;

struct InitOptions {
  std::string kind = "cluster";
  std::string file;
};

/// Creates a file, which appears complete or not at all. Throws conflict if the file exists.
void write_new(const std::string& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file && errno == EEXIST)
    throw Error(ErrorKind::conflict, path + " already exists: move it, or choose another --file");
  if (!file)
    throw Error(unusable({.name = "--file", .path = path}, system_error("making it", errno)));
  try {
    write_all(file.get(), text, "writing " + path);
  } catch (const Error&) {
    ::unlink(path.c_str());
    throw;
  }
}

int run(Context& context, const InitOptions& options) {
  const bool cluster = options.kind == "cluster";
  const std::string_view text = cluster ? kClusterFile : kJobFile;
  if (options.file == "-") {
    context.ui().data(text);
    return 0;
  }
  const std::string path = options.file.empty() ? options.kind + ".yaml" : options.file;
  write_new(path, text);
  View view;
  view.root = document("init");
  view.root["file"] = path;
  view.names = {path};
  if (!context.ui().for_people()) context.ui().show(view);
  context.ui().note("wrote " + path);
  context.ui().next_steps(
      {(cluster ? "fastgpu create cluster -f " : "fastgpu run job -f ") + shell_quote(path)});
  return 0;
}

}  // namespace

Action make_init_command(Arguments& arguments) {
  auto options = std::make_shared<InitOptions>();
  Argument& kind = arguments.text("WHAT", "", "Kind of file (cluster)", options->kind);
  kind.values = Values::choice;
  kind.choices = {"cluster", "job"};
  Argument& file =
      arguments.text("--file", "PATH", "File to write; - writes to standard output", options->file);
  file.letter = "-f";
  file.values = Values::path;
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
