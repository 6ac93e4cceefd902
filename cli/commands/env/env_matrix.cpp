// env matrix: compatible versions, and the meaning of an environment's name.
#include "envs/matrix/matrix.hpp"

#include <algorithm>
#include <memory>

#include "base/join.hpp"
#include "cli/commands/commands.hpp"
#include "cli/program/context.hpp"

namespace fastgpu::cli {
namespace {

struct EnvMatrixOptions {
  std::string name;
  std::string cuda;
};

/// Returns the first and the last version: "3.9-3.13".
std::string range_of(const std::vector<std::string>& versions) {
  if (versions.size() < 2) return joined(versions, " ");
  return versions.front() + "-" + versions.back();
}

/// The rows of one release, which differ only in their accelerators.
struct Release {
  envs::FrameworkRow row;
  std::vector<std::string> on;
};

std::vector<Release> releases_of(const std::vector<envs::FrameworkRow>& rows) {
  std::vector<Release> releases;
  for (const envs::FrameworkRow& row : rows) {
    const bool is_same = !releases.empty() && releases.back().row.framework == row.framework &&
                         releases.back().row.version == row.version &&
                         releases.back().row.offered == row.offered &&
                         releases.back().row.python == row.python;
    if (!is_same) releases.push_back({row, {}});
    releases.back().on.push_back(to_string(row.accelerator));
  }
  return releases;
}

std::string offered_word(const envs::FrameworkRow& row) {
  if (row.offered) return "yes";
  return row.note.empty() ? "no" : "no: " + row.note;
}

Json json_of(const envs::FrameworkRow& row) {
  Json item;
  item["framework"] = display_name(row.framework);
  item["version"] = row.version;
  item["on"] = to_string(row.accelerator);
  item["python"] = row.python;
  item["cudnn"] = row.cudnn;
  item["nccl"] = row.nccl;
  item["install"] = row.requirements;
  item["sources"] = row.sources;
  item["index"] = row.index.empty() ? Json("https://pypi.org/simple") : Json(row.index);
  item["offered"] = row.offered;
  item["note"] = row.note;
  return item;
}

/// Returns the branches of the driver that support a CUDA release, either completely or without its
/// new features.
std::vector<std::string> carriers(const envs::Matrix& matrix, const envs::CudaRelease& cuda,
                                  envs::Carries how) {
  std::vector<std::string> branches;
  for (const envs::DriverBranch& driver : matrix.drivers) {
    std::string branch = std::to_string(driver.branch);
    if (envs::carries(matrix, branch, cuda) == how) branches.push_back(std::move(branch));
  }
  return branches;
}

Json json_of(const envs::Matrix& matrix, const envs::CudaRelease& cuda) {
  Json item;
  item["version"] = cuda.version;
  item["least_driver"] = cuda.least_driver;
  item["compatible_driver"] = cuda.compatible_driver;
  item["drivers"] = carriers(matrix, cuda, envs::Carries::yes);
  item["drivers_compatible"] = carriers(matrix, cuda, envs::Carries::minor);
  item["cudnn"] = cuda.cudnn;
  item["offered"] = cuda.offered;
  return item;
}

Json json_of(const envs::DriverBranch& driver) {
  Json item;
  item["branch"] = driver.branch;
  item["first"] = driver.first;
  item["cuda"] = driver.cuda;
  item["maintained"] = driver.maintained;
  return item;
}

/// Returns only the parts of the matrix on one CUDA version, or all if `version` is empty.
envs::Matrix narrowed(envs::Matrix matrix, const std::string& version) {
  if (version.empty()) return matrix;
  const auto cuda = envs::find_cuda(matrix, version);
  if (!cuda) {
    std::vector<std::string> known;
    for (const envs::CudaRelease& release : matrix.cudas)
      known.push_back(release.version);
    throw Error(ErrorKind::usage,
                "--cuda '" + printable(version) + "' is unknown; known: " + joined(known));
  }
  std::erase_if(matrix.cudas,
                [&](const envs::CudaRelease& other) { return other.version != cuda->version; });
  std::erase_if(matrix.frameworks, [&](const envs::FrameworkRow& row) {
    return row.accelerator != envs::Accelerator{envs::Platform::cuda, cuda->version};
  });
  std::erase_if(matrix.sets, [&](const envs::KnownSet& set) {
    return set.name.accelerator != envs::Accelerator{envs::Platform::cuda, cuda->version};
  });
  std::erase_if(matrix.drivers, [&](const envs::DriverBranch& driver) {
    return envs::carries(matrix, std::to_string(driver.branch), *cuda) == envs::Carries::no;
  });
  return matrix;
}

Json json_of(const envs::Matrix& matrix) {
  Json root = document("env-matrix");
  root["date"] = matrix.date;
  root["source"] = matrix.source;
  root["cuda"] = Json::array();
  for (const envs::CudaRelease& cuda : matrix.cudas)
    root["cuda"].push_back(json_of(matrix, cuda));
  root["drivers"] = Json::array();
  for (const envs::DriverBranch& driver : matrix.drivers)
    root["drivers"].push_back(json_of(driver));
  root["python"] = Json::array();
  for (const envs::PythonRelease& python : matrix.pythons)
    root["python"].push_back(
        Json{{"version", python.version}, {"uv", python.uv}, {"conda", python.conda}});
  root["frameworks"] = Json::array();
  for (const envs::FrameworkRow& row : matrix.frameworks)
    root["frameworks"].push_back(json_of(row));
  root["sets"] = Json::array();
  for (const envs::KnownSet& set : matrix.sets)
    root["sets"].push_back(Json{{"name", to_string(set.name)}, {"source", set.source}});
  return root;
}

/// Returns the matrix for people, with one line per release.
Json described(const envs::Matrix& matrix) {
  Json out;
  out["date"] = matrix.date;
  out["source"] = matrix.source;
  out["cuda"] = Json::array();
  for (const envs::CudaRelease& cuda : matrix.cudas) {
    Json item;
    item["version"] = cuda.version;
    item["driver"] = cuda.least_driver;
    item["at_least"] = cuda.compatible_driver;
    item["cudnn"] = joined(cuda.cudnn, " ");
    item["offered"] = cuda.offered ? "yes" : "no";
    out["cuda"].push_back(std::move(item));
  }
  out["drivers"] = Json::array();
  for (const envs::DriverBranch& driver : matrix.drivers)
    out["drivers"].push_back(Json{{"branch", driver.branch},
                                  {"carries_cuda", driver.cuda},
                                  {"maintained", driver.maintained ? "yes" : "no"}});
  out["frameworks"] = Json::array();
  for (const Release& release : releases_of(matrix.frameworks)) {
    Json item;
    item["framework"] = display_name(release.row.framework);
    item["version"] = release.row.version;
    item["on"] = joined(release.on, " ");
    item["python"] = range_of(release.row.python);
    item["cudnn"] = release.row.cudnn;
    item["nccl"] = release.row.nccl;
    item["offered"] = offered_word(release.row);
    out["frameworks"].push_back(std::move(item));
  }
  out["sets"] = Json::array();
  for (const envs::KnownSet& set : matrix.sets)
    out["sets"].push_back(to_string(set.name));
  return out;
}

/// Returns a name for each offered row, with the newest Python of that row.
std::vector<std::string> names_of(const envs::Matrix& matrix) {
  std::vector<std::string> names;
  for (const envs::FrameworkRow& row : matrix.frameworks)
    if (row.offered)
      names.push_back(to_string(envs::EnvironmentName{.frameworks = {{row.framework, row.version}},
                                                      .accelerator = row.accelerator,
                                                      .python = row.python.back()}));
  return names;
}

View view_of(const envs::Combination& found) {
  View view;
  view.root = document("env-combination");
  view.root["name"] = to_string(found.name);
  view.root["offered"] = found.offered();
  view.root["python"] = found.name.python;
  view.root["cuda"] = found.cuda ? Json(found.cuda->version) : Json(nullptr);
  view.root["least_driver"] = found.cuda ? Json(found.cuda->compatible_driver) : Json(nullptr);
  view.root["frameworks"] = Json::array();
  view.root["nearest"] = found.nearest ? Json(to_string(*found.nearest)) : Json(nullptr);
  view.root["warnings"] = found.warnings();
  view.table.columns = {{"FRAMEWORK"},
                        {"VERSION"},
                        {"INSTALL", false, Fit::prose},
                        {"MAY BUILD", false, Fit::prose},
                        {"INDEX"},
                        {"OFFERED", false, Fit::optional}};
  for (const envs::FrameworkRow& row : found.rows) {
    view.root["frameworks"].push_back(json_of(row));
    view.table.rows.push_back({std::string(display_name(row.framework)), row.version,
                               joined(row.requirements, " "), joined(row.sources, " "),
                               row.index.empty() ? "PyPI" : row.index, row.offered ? "yes" : "no"});
    std::ranges::copy(row.requirements, std::back_inserter(view.names));
  }
  return view;
}

int show_whole(Context& context, const envs::Matrix& matrix, const envs::EnvironmentName& name) {
  const envs::Combination found = envs::resolve(matrix, name);
  context.ui().show(view_of(found));
  for (const std::string& warning : found.warnings())
    context.ui().warn(warning);
  return 0;
}

/// Shows what a name without an accelerator can mean, depending on the nodes.
int show_open(Context& context, const envs::Matrix& matrix, const envs::EnvironmentName& name) {
  View view;
  view.root = document("env-combinations");
  view.root["combinations"] = Json::array();
  view.table.columns = {
      {"NAME"}, {"DRIVER"}, {"INSTALL", false, Fit::prose}, {"OFFERED", false, Fit::optional}};
  for (const envs::Accelerator& accelerator : envs::possible_accelerators(matrix, name)) {
    envs::EnvironmentName whole = name;
    whole.accelerator = accelerator;
    const View one = view_of(envs::resolve(matrix, whole));
    view.root["combinations"].push_back(one.root);
    const Json& driver = one.root["least_driver"];
    view.table.rows.push_back({to_string(whole), driver.is_null() ? "" : driver.get<std::string>(),
                               joined(one.names, " "),
                               one.root["offered"].get<bool>() ? "yes" : "no"});
    view.names.push_back(to_string(whole));
  }
  if (view.names.empty()) envs::resolve(matrix, name);  // Throws, with the reason.
  context.ui().show(view);
  return 0;
}

int run(Context& context, const EnvMatrixOptions& options) {
  envs::Matrix matrix = envs::builtin_matrix();
  if (!options.name.empty()) {
    const envs::WantedName wanted = envs::parse_wanted_name(options.name);
    return wanted.has_accelerator ? show_whole(context, matrix, wanted.name)
                                  : show_open(context, matrix, wanted.name);
  }
  matrix = narrowed(std::move(matrix), options.cuda);
  View view;
  view.root = json_of(matrix);
  view.described = described(matrix);
  view.names = names_of(matrix);
  context.ui().show(view);
  return 0;
}

}  // namespace

Action make_env_matrix_command(Arguments& arguments) {
  auto options = std::make_shared<EnvMatrixOptions>();
  arguments.text("NAME", "", "Show what this environment name resolves to", options->name).values =
      Values::matrix_name;
  arguments.text("--cuda", "VERSION", "Show only what works with this CUDA", options->cuda);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
