#include "envs/drivers/recipe.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/protocol/index_login.hpp"
#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"

namespace fastgpu::envs {
namespace {

bool is_version(std::string_view text) {
  return !text.empty() && text.size() < 32 && text.front() != '.' && text.back() != '.' &&
         text.find_first_not_of("0123456789.") == std::string_view::npos &&
         text.find("..") == std::string_view::npos;
}

void check_version(const std::string& option, const std::string& text, const std::string& example) {
  if (text.empty() || is_version(text)) return;
  throw Error(ErrorKind::usage,
              option + " '" + printable(text) + "' is not a version: write it like " + example);
}

std::string known_cudas(const Matrix& matrix) {
  std::string list;
  for (const CudaRelease& cuda : matrix.cudas)
    if (cuda.offered) append_item(list, cuda.version);
  return list;
}

CudaRelease wanted_cuda(const Recipe& recipe, const Matrix& matrix) {
  const auto cuda = find_cuda(matrix, recipe.cuda);
  if (!cuda || cuda->version != recipe.cuda)
    throw Error(ErrorKind::usage,
                "--cuda " + recipe.cuda + " is unknown; known: " + known_cudas(matrix));
  if (!cuda->offered)
    throw Error(ErrorKind::usage,
                "CUDA " + recipe.cuda +
                    " is in no package repository of a current distribution; available: " +
                    known_cudas(matrix));
  return *cuda;
}

std::string maintained_drivers(const Matrix& matrix) {
  std::string list;
  for (const DriverBranch& driver : matrix.drivers)
    if (driver.maintained) append_item(list, std::to_string(driver.branch));
  return list;
}

/// Returns why a branch is not for a GPU; empty if it is.
std::string objection(const GpuModel& gpu, int branch) {
  if (gpu.first_driver > branch)
    return gpu.name + " needs driver " + std::to_string(gpu.first_driver) + " or newer, not " +
           std::to_string(branch);
  if (gpu.last_driver != 0 && gpu.last_driver < branch)
    return gpu.name + " (" + gpu.architecture + ") is supported up to driver " +
           std::to_string(gpu.last_driver) + ", not " + std::to_string(branch);
  return "";
}

std::string objection(const NodeFacts& facts, const Matrix& matrix, int branch) {
  for (const Gpu& gpu : facts.gpus) {
    auto model = find_gpu_by_id(matrix, gpu.pci_id);
    if (!model) model = find_gpu(matrix, gpu.model);
    if (!model) continue;
    if (std::string why = objection(*model, branch); !why.empty()) return why;
  }
  return "";
}

int branch_of(std::string_view version) {
  return std::stoi(std::string(version.substr(0, std::min<std::size_t>(version.find('.'), 6))));
}

}  // namespace

void check_recipe(const Recipe& recipe, const Matrix& matrix) {
  if (agent::has_login(recipe.mirror))
    throw Error(ErrorKind::usage, "--repository '" + agent::hide_logins(recipe.mirror) +
                                      "' has a password in it, which every user of the nodes could "
                                      "read in the package manager's files");
  check_version("--driver", recipe.driver, "580 or 580.95.05");
  check_version("--cuda", recipe.cuda, "13.0");
  check_version("--cudnn", recipe.cudnn, "9");
  if (!recipe.driver.empty() && !find_driver(matrix, recipe.driver))
    throw Error(ErrorKind::usage,
                "--driver " + recipe.driver +
                    " is not of a known branch; maintained: " + maintained_drivers(matrix));
  if (recipe.cuda.empty()) return;
  const CudaRelease cuda = wanted_cuda(recipe, matrix);
  if (!recipe.driver.empty() && carries(matrix, recipe.driver, cuda) == Carries::no) {
    const auto branch = find_driver(matrix, recipe.driver);
    throw Error(ErrorKind::usage, "driver " + recipe.driver + " does not support CUDA " +
                                      cuda.version + ": it supports CUDA " + branch->cuda +
                                      " and older, but CUDA " + cuda.version + " needs driver " +
                                      cuda.compatible_driver + " or newer");
  }
  const auto made = std::ranges::find(cuda.cudnn, recipe.cudnn);
  if (!recipe.cudnn.empty() && made == cuda.cudnn.end())
    throw Error(ErrorKind::usage, "cuDNN " + recipe.cudnn + " is not available for CUDA " +
                                      cuda.version + ", but " + cuda.cudnn.back() + " is");
}

std::string repository_folder(const NodeFacts& facts) {
  const std::string arch = facts.arch == "aarch64" ? "sbsa" : facts.arch;
  const std::string major = facts.os.version.substr(0, facts.os.version.find('.'));
  std::string version = facts.os.version;
  std::erase(version, '.');
  const auto is_like = [&](const char* id) {
    return facts.os.id == id || contains(facts.os.like, id);
  };
  if (facts.os.id == "ubuntu") return "ubuntu" + version + "/" + arch;
  if (facts.os.id == "debian") return "debian" + major + "/" + arch;
  if (facts.os.id == "amzn" && major == "2023") return "amzn2023/" + arch;
  if (facts.os.id == "alinux" && major == "3") return "rhel8/" + arch;
  if (facts.os.id == "fedora") return "fedora" + major + "/" + arch;
  if (is_like("rhel") && !major.empty()) return "rhel" + major + "/" + arch;
  throw Error(ErrorKind::usage,
              "NVIDIA has no packages for " +
                  (facts.os.name.empty() ? std::string("a system without os-release")
                                         : "'" + printable(facts.os.name) + "'") +
                  "; it has some for Debian, Ubuntu, RHEL and its derivatives, Fedora, Amazon "
                  "Linux 2023 and Alibaba Cloud Linux 3");
}

std::vector<std::string> packages_of_interest(const Recipe& recipe, const Matrix& matrix) {
  std::vector<std::string> names = {"nvidia-open",           "cuda-drivers", "nvidia-fabricmanager",
                                    "nvidia-fabric-manager", "nvlsm",        "gdrcopy",
                                    "gdrdrv-dkms",           "libgdrapi",    "dkms",
                                    "nvidia-driver",         "nvidia-smi"};
  for (const DriverBranch& driver : matrix.drivers) {
    const std::string branch = std::to_string(driver.branch);
    for (const char* name : {"nvidia-fabricmanager-", "nvidia-utils-"})
      names.push_back(name + branch + (name[7] == 'u' ? "-server" : ""));
    names.push_back("nvidia-headless-" + branch + "-server");
    names.push_back("nvidia-headless-" + branch + "-server-open");
  }
  if (!recipe.cuda.empty()) {
    std::string dashed = recipe.cuda;
    std::ranges::replace(dashed, '.', '-');
    names.push_back("cuda-toolkit-" + dashed);
  }
  if (!recipe.cudnn.empty()) {
    names.emplace_back("libcudnn8");
    for (const char* major : {"11", "12", "13"})
      names.push_back("cudnn" + recipe.cudnn + "-cuda-" + major);
  }
  return names;
}

int choose_branch(const Recipe& recipe, const NodeFacts& facts, const Matrix& matrix) {
  if (!recipe.driver.empty()) {
    const int branch = branch_of(recipe.driver);
    if (const std::string why = objection(facts, matrix, branch); !why.empty())
      throw Error(ErrorKind::usage, why);
    return branch;
  }
  const auto cuda = find_cuda(matrix, recipe.cuda);
  if (facts.nvidia.answers && !facts.nvidia.loaded.empty() &&
      find_driver(matrix, facts.nvidia.loaded) &&
      (!cuda || carries(matrix, facts.nvidia.loaded, *cuda) != Carries::no))
    return branch_of(facts.nvidia.loaded);
  std::string why = "no maintained driver";
  for (const DriverBranch& driver : matrix.drivers) {
    if (!driver.maintained) continue;
    const std::string name = std::to_string(driver.branch);
    std::string against = objection(facts, matrix, driver.branch);
    if (against.empty() && cuda && carries(matrix, name, *cuda) == Carries::no)
      against = "driver " + name + " does not support CUDA " + cuda->version;
    if (against.empty()) return driver.branch;
    why = against;
  }
  throw Error(ErrorKind::usage, "no maintained driver (" + maintained_drivers(matrix) +
                                    ") fits: " + why + "; choose an older one with --driver");
}

namespace {

bool is_ascend(std::string_view model) {
  constexpr std::string_view kName = "ascend";
  return ascii_lower(model).starts_with(kName);
}

NodeFacts with_ascend(NodeFacts facts, std::string_view model, std::size_t many) {
  facts.gpus.assign(many, {.vendor = "ascend", .model = printable(model)});
  facts.nvidia = {};
  facts.cann.clear();
  facts.canns.clear();
  return facts;
}

}  // namespace

NodeFacts with_assumed_gpus(NodeFacts facts, std::string_view text, const Matrix& matrix) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view count = text.substr(std::min(colon + 1, text.size()));
  const bool is_count = count.empty() ? colon == text.size()
                                      : count.size() <= 2 && count.front() != '0' &&
                                            count.find_first_not_of("0123456789") == count.npos;
  if (!is_count)
    throw Error(ErrorKind::usage, "--assume-gpu '" + printable(text) +
                                      "': write a model and 1 to 99, such as L40S:8");
  const std::size_t many = count.empty() ? 1 : std::stoul(std::string(count));
  if (is_ascend(text)) return with_ascend(std::move(facts), text.substr(0, colon), many);
  const auto model = find_gpu(matrix, text.substr(0, colon));
  if (!model) {
    std::vector<std::string> known;
    for (const GpuModel& gpu : matrix.gpus)
      known.push_back(gpu.name);
    const std::string near = nearest_name(text.substr(0, colon), known);
    throw Error(ErrorKind::usage,
                "--assume-gpu '" + printable(text) + "': unknown model" +
                    (near.empty() ? "; L40S and H100 are known" : ", did you mean " + near + "?"));
  }
  facts.gpus.assign(many, {.vendor = "nvidia",
                           .model = "NVIDIA " + model->name,
                           .pci_id = model->ids.empty() ? "" : model->ids.front()});
  const bool switched = model->nvswitch_from > 0 && static_cast<int>(many) >= model->nvswitch_from;
  facts.nvidia = {};
  facts.nvidia.nvswitches = switched ? 4 : 0;
  std::erase_if(facts.installed, [](const auto& package) {
    return package.first.find("nvidia") != std::string::npos || package.first.starts_with("cuda");
  });
  return facts;
}

std::string upstream_version(std::string_view version) {
  const std::size_t epoch = version.find(':');
  if (epoch != std::string_view::npos) version.remove_prefix(epoch + 1);
  return std::string(version.substr(0, version.find('-')));
}

}  // namespace fastgpu::envs
