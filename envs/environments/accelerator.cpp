#include "envs/environments/accelerator.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"

namespace fastgpu::envs {
namespace {

bool has_gpu_of(const NodeFacts& facts, const char* vendor) {
  return std::ranges::any_of(facts.gpus, [&](const Gpu& gpu) { return gpu.vendor == vendor; });
}

Platform platform_of(const NodeFacts& facts) {
  if (has_gpu_of(facts, "nvidia")) return Platform::cuda;
  return has_gpu_of(facts, "ascend") ? Platform::cann : Platform::cpu;
}

/// Returns the kind of a node in words.
std::string accelerator_kind(const KnownNode& node) {
  const NodeFacts& facts = node.facts;
  if (platform_of(facts) != Platform::cann) return describe_gpus(facts);
  return describe_gpus(facts) + " with " + (facts.cann.empty() ? "no CANN" : "CANN " + facts.cann);
}

bool are_alike(const NodeFacts& a, const NodeFacts& b) {
  if (platform_of(a) != platform_of(b)) return false;
  return platform_of(a) != Platform::cann || a.cann == b.cann;
}

void check_alike(const EnvironmentName& open, std::span<const KnownNode> nodes) {
  const KnownNode& first = nodes.front();
  const auto other = std::ranges::find_if(
      nodes, [&](const KnownNode& node) { return !are_alike(node.facts, first.facts); });
  if (other == nodes.end()) return;
  throw Error(ErrorKind::conflict, "the nodes differ: " + first.name + " has " +
                                       accelerator_kind(first) + ", " + other->name + " has " +
                                       accelerator_kind(*other) +
                                       ": choose the accelerator, as in " + to_string(open) +
                                       ", or use nodes of one kind, as in --cluster CLUSTER/0");
}

std::string driver_of(const NodeFacts& facts) {
  return facts.nvidia.loaded.empty() ? facts.nvidia.installed : facts.nvidia.loaded;
}

std::optional<GpuModel> model_of(const Matrix& matrix, const Gpu& gpu) {
  const auto named = find_gpu(matrix, gpu.model);
  return named ? named : find_gpu_by_id(matrix, gpu.pci_id);
}

std::vector<GpuModel> models_on(const Matrix& matrix, std::span<const KnownNode> nodes) {
  std::vector<GpuModel> models;
  for (const KnownNode& node : nodes)
    for (const Gpu& gpu : node.facts.gpus)
      if (const auto model = model_of(matrix, gpu)) models.push_back(*model);
  return models;
}

/// Returns the oldest maintained branch that supports all of these GPUs.
std::string branch_for(const Matrix& matrix, std::span<const GpuModel> models) {
  for (const DriverBranch& driver : matrix.drivers) {
    const bool knows_all = std::ranges::all_of(models, [&](const GpuModel& model) {
      return model.first_driver <= driver.branch &&
             (model.last_driver == 0 || driver.branch <= model.last_driver);
    });
    if (driver.maintained && knows_all) return std::to_string(driver.branch);
  }
  throw Error(ErrorKind::usage, "no maintained driver supports these GPUs: choose the accelerator");
}

/// Returns the drivers of all nodes, without duplicates; a branch for nodes without a driver.
std::vector<std::string> drivers_of(const Matrix& matrix, std::span<const KnownNode> nodes,
                                    std::span<const GpuModel> models) {
  std::vector<std::string> drivers;
  for (const KnownNode& node : nodes) {
    const std::string there = driver_of(node.facts);
    const std::string driver = there.empty() ? branch_for(matrix, models) : there;
    if (!contains(drivers, driver)) drivers.push_back(driver);
  }
  return drivers;
}

/// Returns how well all drivers support it.
Carries carried_by(const Matrix& matrix, const std::vector<std::string>& drivers,
                   const CudaRelease& cuda) {
  Carries least = Carries::yes;
  for (const std::string& driver : drivers)
    least = std::min(least, carries(matrix, driver, cuda));
  return least;
}

/// Returns the accelerators of that platform; if some have wheels, only those.
std::vector<Accelerator> accelerators_of(const Matrix& matrix, const EnvironmentName& open,
                                         Platform platform) {
  auto all = possible_accelerators(matrix, open);
  std::erase_if(all, [&](const Accelerator& one) { return one.platform != platform; });
  const auto is_offered = [&](const Accelerator& one) {
    EnvironmentName whole = open;
    whole.accelerator = one;
    return resolve(matrix, whole).offered();
  };
  std::vector<Accelerator> offered;
  std::ranges::copy_if(all, std::back_inserter(offered), is_offered);
  return offered.empty() ? all : offered;
}

AcceleratorChoice choose_cuda(const Matrix& matrix, const EnvironmentName& open,
                              std::span<const KnownNode> nodes) {
  const auto models = models_on(matrix, nodes);
  const auto drivers = drivers_of(matrix, nodes, models);
  const bool is_old =
      std::ranges::any_of(models, [](const auto& gpu) { return !gpu.open_modules; });
  std::optional<CudaRelease> best;
  Carries how = Carries::no;
  for (const Accelerator& possible : accelerators_of(matrix, open, Platform::cuda)) {
    const auto cuda = find_cuda(matrix, possible.version);
    if (!cuda) continue;
    // This release has dropped them.
    if (is_old && compare_versions(cuda->version, "13.0") >= 0) continue;
    const Carries carried = carried_by(matrix, drivers, *cuda);
    if (carried == Carries::no || carried < how) continue;
    best = cuda;
    how = carried;
  }
  if (!best)
    throw Error(
        ErrorKind::usage,
        "driver " + joined(drivers) + " supports no CUDA with which " + to_string(open) +
            " could be built; fastgpu env matrix shows the CUDA versions of each framework");
  const bool is_there = std::ranges::all_of(
      nodes, [](const KnownNode& node) { return !driver_of(node.facts).empty(); });
  AcceleratorChoice choice{.name = open, .reason = {}};
  choice.name.accelerator = {Platform::cuda, best->version};
  choice.reason = std::string(is_there ? "driver " : "some nodes have no driver yet, and ") +
                  joined(drivers) + (drivers.size() == 1 ? " supports" : " support") + " CUDA " +
                  best->version + (how == Carries::minor ? " except for its new features" : "");
  return choice;
}

AcceleratorChoice choose_cann(const Matrix& matrix, const EnvironmentName& open,
                              const std::string& there) {
  AcceleratorChoice choice{.name = open, .reason = {}};
  choice.name.accelerator = {Platform::cann, there};
  for (const Accelerator& possible : accelerators_of(matrix, open, Platform::cann))
    if (there.empty() || covers(possible.version, there)) choice.name.accelerator = possible;
  if (choice.name.accelerator.version.empty())
    throw Error(ErrorKind::usage, to_string(open) +
                                      " is not available for Ascend; fastgpu env matrix shows the "
                                      "accelerators of each framework");
  choice.reason = there.empty() ? "the nodes have Ascend processors but no CANN yet, and CANN " +
                                      choice.name.accelerator.version + " is the newest"
                                : "CANN " + there + " is installed";
  return choice;
}

}  // namespace

AcceleratorChoice choose_accelerator(const Matrix& matrix, const EnvironmentName& open,
                                     std::span<const KnownNode> nodes) {
  check_alike(open, nodes);
  const NodeFacts& facts = nodes.front().facts;
  AcceleratorChoice choice{.name = open, .reason = {}};
  switch (platform_of(facts)) {
    case Platform::cuda:
      choice = choose_cuda(matrix, open, nodes);
      break;
    case Platform::cann:
      choice = choose_cann(matrix, open, facts.cann);
      break;
    case Platform::cpu:
      choice.name.accelerator = {};
      choice.reason = "no node has a GPU that is in the matrix";
      break;
  }
  resolve(matrix, choice.name);  // Throws if it is not possible.
  return choice;
}

}  // namespace fastgpu::envs
