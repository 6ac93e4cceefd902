#include <filesystem>
#include <fstream>
#include <memory>

#include "base/chosen_place.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/out_directory.hpp"
#include "cli/program/app.hpp"
#include "cli/program/common_flags.hpp"
#include "cli/program/man.hpp"

namespace fastgpu::cli {
namespace {

struct ManOptions {
  std::string directory;
};

void write_page(const std::filesystem::path& directory, const std::string& name,
                const std::string& text) {
  const std::filesystem::path file = directory / (name + ".1");
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(ErrorKind::local, "writing " + file.string() + " failed");
}

int run(const ManOptions& options) {
  const std::filesystem::path directory(options.directory);
  require_writable_directory({.name = "the directory", .path = directory});
  make_directories(directory);
  write_page(directory, "fastgpu", man_page_for_all(commands()));
  for (const CliCommand& command : commands())
    if (!command.summary.empty())
      write_page(directory, man_name(command), man_page(command, arguments_of(command)));
  return 0;
}

}  // namespace

Action make_man_command(Arguments& arguments) {
  auto options = std::make_shared<ManOptions>();
  arguments.text("DIR", "", "Directory to write the manual pages to", options->directory).required =
      true;
  return [options](Context&) { return run(*options); };
}

}  // namespace fastgpu::cli
