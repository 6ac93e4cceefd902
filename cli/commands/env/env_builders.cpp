#include "cli/commands/env/env_builders.hpp"

#include <sys/utsname.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "cli/program/arguments.hpp"
#include "cli/workflows/helper_programs.hpp"
#include "envs/environments/python_archive.hpp"
#include "envs/environments/rattler.hpp"
#include "envs/environments/toolbox.hpp"
#include "envs/environments/uv.hpp"
#include "http/curl_client.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

using Files = std::vector<envs::PlacedFile>;

bool is_own(const std::string& machine) {
  utsname here{};
  return ::uname(&here) == 0 && machine == here.machine;
}

/// Returns the path of libfastgpu_comm for the processor `machine`. Throws ErrorKind::usage if
/// fastgpu was not built for that processor.
fs::path comm_library(const std::string& machine) {
  const std::string file = "libfastgpu_comm.so.0";
  if (is_own(machine)) return find_helper(file);
  for (const std::string known : {"aarch64", "x86_64"})
    if (machine == known)
      if (auto other = seek_helper(known + "/" + file)) return *other;
  throw Error(ErrorKind::usage, "the nodes have a different processor (" + printable(machine) +
                                    ") than this machine, and libfastgpu_comm for it is missing "
                                    "here: install or build it (docs/hacking.md)");
}

/// Returns the files that every environment gets in addition to its packages.
Files in_every_environment(const std::string& machine) {
  Files files = {
      {comm_library(machine), "lib/fastgpu/libfastgpu_comm.so.0"},
      {find_helper("fastgpu_comm/__init__.py").parent_path(), "lib/fastgpu/python/fastgpu_comm"},
      {find_helper("digits.py").parent_path(), "share/fastgpu/demo"}};
  // A plugin exists only if the headers of MPI or libfabric were there at build time.
  for (const std::string plugin : {"libfastgpu_comm_mpi.so", "libfastgpu_comm_fabric.so"})
    if (const auto file = seek_helper(plugin); file && is_own(machine))
      files.push_back({*file, "lib/fastgpu/" + plugin});
  return files;
}

using Python = std::optional<envs::PythonArchive>;

/// Adds the Python that the node lacks, if it lacks one.
void add_python(Context& context, const BuilderOptions& options, const Python& python,
                envs::PythonUse use, const fs::path& place, Files& files) {
  if (!python) return;
  http::CurlClient http(http::curl_settings(context.environment()));
  const fs::path kept = context.state_directory() / "tools";
  files.push_back(
      {envs::fetch_python(*python, use, options.python_mirror, kept, http, context.cancel()),
       place});
}

envs::PlacedFile uv_program(Context& context, const BuilderOptions& options,
                            const std::string& machine, const fs::path& scratch) {
  if (!options.uv.empty()) return {fs::absolute(options.uv), "uv"};
  http::CurlClient http(http::curl_settings(context.environment()));
  const fs::path kept = context.state_directory() / "tools";
  return {envs::fetch_uv(machine, kept, scratch, http, context.cancel()), "uv"};
}

Files uv_tools(Context& context, const BuilderOptions& options, const Python& python,
               const std::string& machine, const fs::path& scratch) {
  Files files = {uv_program(context, options, machine, scratch)};
  add_python(context, options, python, envs::PythonUse::environment, "python.tar", files);
  return files;
}

fs::path rattler_wheel(Context& context, const BuilderOptions& options,
                       const std::string& machine) {
  if (!options.py_rattler.empty()) return fs::absolute(options.py_rattler);
  http::CurlClient http(http::curl_settings(context.environment()));
  return envs::fetch_rattler(machine, context.state_directory() / "tools", http, context.cancel());
}

Files conda_tools(Context& context, const BuilderOptions& options, const Python& python,
                  const std::string& machine, const fs::path& scratch) {
  const fs::path client = scratch / "client.py";
  state::write_private_file(client, std::string(envs::conda_client()));
  Files files = {{rattler_wheel(context, options, machine), "conda/py_rattler.whl"},
                 {client, "conda/client.py"}};
  add_python(context, options, python, envs::PythonUse::builder, "conda/python.tar", files);
  return files;
}

Files tools_of(Context& context, const BuilderOptions& options, const envs::EnvironmentSpec& spec,
               const Python& python, const std::string& machine, const fs::path& scratch) {
  Files files;
  switch (spec.builder) {
    case envs::Builder::uv:
      return uv_tools(context, options, python, machine, scratch);
    case envs::Builder::conda:
      files = conda_tools(context, options, python, machine, scratch);
      if (!spec.pip.empty()) files.push_back(uv_program(context, options, machine, scratch));
      break;
  }
  return files;
}

}  // namespace

void describe_builder_options(Arguments& arguments, BuilderOptions& options) {
  arguments.group("Builder");
  shared(arguments.text("--uv", "FILE", "Use this uv instead of the pinned one", options.uv))
      .values = Values::path;
  shared(arguments.text("--py-rattler", "WHEEL",
                        "conda: use this py-rattler instead of the pinned one", options.py_rattler))
      .values = Values::path;
  shared(arguments.text("--python-mirror", "URL",
                        "Fetch archives of Python from here instead of GitHub",
                        options.python_mirror));
  shared(arguments.text("--python-table", "FILE",
                        "Use this table of Python archives instead of the built-in one",
                        options.python_table))
      .values = Values::path;
  arguments.group("Index");
  shared(arguments.duration("--index-timeout", "Timeout for an answer of a package index (30s)",
                            options.index_timeout));
  describe_index_options(arguments, options.index);
  Argument& fetch = shared(arguments.text(
      "--fetch", "HOW", "Fetch packages by the nodes themselves or through this machine (auto)",
      options.fetch));
  fetch.values = Values::choice;
  fetch.choices = {"auto", "here", "nodes"};
  shared(arguments.list("--fetch-host", "HOST[:PORT]",
                        "Let nodes reach this host of package files through this machine, too",
                        options.fetch_hosts));
  arguments.group("");
}

std::vector<envs::KnownPython> known_pythons(const BuilderOptions& options) {
  if (options.python_table.empty()) return envs::builtin_pythons();
  const auto text = read_file(options.python_table);
  if (!text) throw Error(ErrorKind::not_found, "there is no file " + options.python_table);
  return envs::parse_pythons(*text, options.python_table);
}

void use_builder_options(Context& context, const BuilderOptions& options,
                         envs::InstallationRequest& request) {
  if (options.index_timeout)
    request.index_timeout =
        std::max(1s, std::chrono::ceil<std::chrono::seconds>(*options.index_timeout));
  request.fetch = options.fetch == "here"    ? envs::Fetch::here
                  : options.fetch == "nodes" ? envs::Fetch::nodes
                                             : envs::Fetch::automatic;
  request.fetch_hosts = options.fetch_hosts;
  request.network = http::curl_settings(context.environment());
  request.logins = index_logins(context, options.index, request.spec);
  request.pythons = known_pythons(options);
  request.on_note = [&ui = context.ui()](const std::string& sentence) { ui.note(sentence); };
  request.toolbox = [&context, options, spec = request.spec, scratch = request.scratch](
                        const std::string& machine, const Python& python) {
    // First, because it may throw before anything is downloaded.
    const Files common = in_every_environment(machine);
    envs::Toolbox toolbox =
        envs::make_toolbox(tools_of(context, options, spec, python, machine, scratch), common);
    if (spec.builder == envs::Builder::uv) toolbox.python = python;
    return toolbox;
  };
}

}  // namespace fastgpu::cli
