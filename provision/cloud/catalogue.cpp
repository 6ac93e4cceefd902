#include "provision/cloud/catalogue.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "http/urls.hpp"
#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::cloud {
namespace {

// From the vendors' public instance type pages and API metadata. Columns: cloud, type, GPU, GPUs,
// GiB of one GPU, virtual cores, GiB, Gbit/s, RDMA interfaces, their Gbit/s where lists have it; 0
// means that no list has the value.
constexpr std::array kRows = {
    CatalogueRow{"alibaba", "ecs.gn6v-c8g1.2xlarge", "V100", 1, 16, 8, 32, 2.5, 0},
    CatalogueRow{"alibaba", "ecs.gn6v-c8g1.8xlarge", "V100", 4, 16, 32, 128, 10, 0},
    CatalogueRow{"alibaba", "ecs.gn6v-c8g1.16xlarge", "V100", 8, 16, 64, 256, 20, 0},
    CatalogueRow{"alibaba", "ecs.gn6v-c10g1.20xlarge", "V100", 8, 16, 82, 336, 32, 0},
    CatalogueRow{"alibaba", "ecs.gn6e-c12g1.3xlarge", "V100", 1, 32, 12, 92, 5, 0},
    CatalogueRow{"alibaba", "ecs.gn6e-c12g1.12xlarge", "V100", 4, 32, 48, 368, 16, 0},
    CatalogueRow{"alibaba", "ecs.gn6e-c12g1.24xlarge", "V100", 8, 32, 96, 736, 32, 0},
    CatalogueRow{"alibaba", "ecs.gn7-c12g1.3xlarge", "A100", 1, 40, 12, 95, 4, 0},
    CatalogueRow{"alibaba", "ecs.gn7-c13g1.13xlarge", "A100", 4, 40, 52, 380, 15, 0},
    CatalogueRow{"alibaba", "ecs.gn7-c13g1.26xlarge", "A100", 8, 40, 104, 760, 30, 0},
    CatalogueRow{"alibaba", "ecs.gn7e-c16g1.4xlarge", "A100", 1, 80, 16, 125, 8, 0},
    CatalogueRow{"alibaba", "ecs.gn7e-c16g1.8xlarge", "A100", 2, 80, 32, 250, 16, 0},
    CatalogueRow{"alibaba", "ecs.gn7e-c16g1.16xlarge", "A100", 4, 80, 64, 500, 32, 0},
    CatalogueRow{"alibaba", "ecs.gn7e-c16g1.32xlarge", "A100", 8, 80, 128, 1000, 64, 0},
    CatalogueRow{"alibaba", "ecs.ebmgn6v.24xlarge", "V100", 8, 16, 96, 384, 30, 0},
    CatalogueRow{"alibaba", "ecs.ebmgn6e.24xlarge", "V100", 8, 32, 96, 768, 32, 0},
    CatalogueRow{"alibaba", "ecs.ebmgn7.26xlarge", "A100", 8, 40, 104, 768, 30, 0},
    CatalogueRow{"alibaba", "ecs.ebmgn7e.32xlarge", "A100", 8, 80, 128, 1024, 64, 0},
    CatalogueRow{"alibaba", "ecs.ebmgn7i.32xlarge", "A10", 4, 24, 128, 768, 64, 0},
    CatalogueRow{"alibaba", "ecs.ebmgn7ex.32xlarge", "A100", 8, 80, 128, 1024, 160, 1},
    CatalogueRow{"alibaba", "ecs.ebmgn8is.32xlarge", "L20", 8, 48, 128, 1024, 160, 1, 160},
    CatalogueRow{"alibaba", "ecs.ebmgn8ia.64xlarge", "L20", 4, 48, 256, 1536, 160, 1, 160},
    CatalogueRow{"alibaba", "ecs.sccgn6.24xlarge", "V100", 8, 16, 96, 384, 30, 2, 50},
    CatalogueRow{"tencent", "GN7.2XLARGE32", "T4", 1, 16, 8, 32, 3, 0},
    CatalogueRow{"tencent", "GN7.5XLARGE80", "T4", 1, 16, 20, 80, 7, 0},
    CatalogueRow{"tencent", "GN7.8XLARGE128", "T4", 1, 16, 32, 128, 10, 0},
    CatalogueRow{"tencent", "GN7.10XLARGE160", "T4", 2, 16, 40, 160, 13, 0},
    CatalogueRow{"tencent", "GN7.20XLARGE320", "T4", 4, 16, 80, 320, 25, 0},
    CatalogueRow{"tencent", "GN8.LARGE56", "P40", 1, 24, 6, 56, 1.5, 0},
    CatalogueRow{"tencent", "GN8.3XLARGE112", "P40", 2, 24, 14, 112, 2.5, 0},
    CatalogueRow{"tencent", "GN8.7XLARGE224", "P40", 4, 24, 28, 224, 5, 0},
    CatalogueRow{"tencent", "GN8.14XLARGE448", "P40", 8, 24, 56, 448, 10, 0},
    CatalogueRow{"tencent", "GN10X.2XLARGE40", "V100", 1, 32, 8, 40, 4, 0},
    CatalogueRow{"tencent", "GN10X.4XLARGE80", "V100", 2, 32, 18, 80, 7, 0},
    CatalogueRow{"tencent", "GN10X.9XLARGE160", "V100", 4, 32, 36, 160, 13, 0},
    CatalogueRow{"tencent", "GN10X.18XLARGE320", "V100", 8, 32, 72, 320, 25, 0},
    CatalogueRow{"tencent", "GN10Xp.2XLARGE40", "V100", 1, 32, 10, 40, 4, 0},
    CatalogueRow{"tencent", "GN10Xp.5XLARGE80", "V100", 2, 32, 20, 80, 7, 0},
    CatalogueRow{"tencent", "GN10Xp.10XLARGE160", "V100", 4, 32, 40, 160, 13, 0},
    CatalogueRow{"tencent", "GN10Xp.20XLARGE320", "V100", 8, 32, 80, 320, 25, 0},
    CatalogueRow{"tencent", "GT4.4XLARGE96", "A100", 1, 40, 16, 96, 5, 0},
    CatalogueRow{"tencent", "GT4.8XLARGE192", "A100", 2, 40, 32, 192, 10, 0},
    CatalogueRow{"tencent", "GT4.20XLARGE474", "A100", 4, 40, 82, 474, 25, 0},
    CatalogueRow{"tencent", "GT4.41XLARGE948", "A100", 8, 40, 164, 948, 50, 0},
    CatalogueRow{"huawei", "p2s.2xlarge.8", "V100", 1, 32, 8, 64, 10, 0},
    CatalogueRow{"huawei", "p2s.4xlarge.8", "V100", 2, 32, 16, 128, 15, 0},
    CatalogueRow{"huawei", "p2s.8xlarge.8", "V100", 4, 32, 32, 256, 25, 0},
    CatalogueRow{"huawei", "p2s.16xlarge.8", "V100", 8, 32, 64, 512, 30, 0},
    CatalogueRow{"huawei", "p2v.2xlarge.8", "V100", 1, 16, 8, 64, 10, 0},
    CatalogueRow{"huawei", "p2v.4xlarge.8", "V100", 2, 16, 16, 128, 15, 0},
    CatalogueRow{"huawei", "p2v.8xlarge.8", "V100", 4, 16, 32, 256, 25, 0},
    CatalogueRow{"huawei", "p2v.16xlarge.8", "V100", 8, 16, 64, 512, 30, 0},
    CatalogueRow{"huawei", "p3.16xlarge.8", "A100", 8, 80, 64, 512, 36, 0},
    CatalogueRow{"huawei", "pi2.2xlarge.4", "T4", 1, 16, 8, 32, 10, 0},
    CatalogueRow{"huawei", "pi2.4xlarge.4", "T4", 2, 16, 16, 64, 15, 0},
    CatalogueRow{"huawei", "pi2.8xlarge.4", "T4", 4, 16, 32, 128, 25, 0},
    CatalogueRow{"huawei", "ai1s.large.4", "Ascend310", 0, 0, 2, 8, 0, 0},
    CatalogueRow{"huawei", "ai1s.xlarge.4", "Ascend310", 0, 0, 4, 16, 0, 0},
    CatalogueRow{"huawei", "ai1s.2xlarge.4", "Ascend310", 0, 0, 8, 32, 0, 0},
    CatalogueRow{"huawei", "ai1s.4xlarge.4", "Ascend310", 0, 0, 16, 64, 0, 0},
    CatalogueRow{"huawei", "ai1s.8xlarge.4", "Ascend310", 0, 0, 32, 128, 0, 0},
    CatalogueRow{"aws", "p3dn.24xlarge", "V100", 8, 32, 96, 768, 100, 1},
    CatalogueRow{"aws", "p4d.24xlarge", "A100", 8, 40, 96, 1152, 400, 4},
    CatalogueRow{"aws", "p4de.24xlarge", "A100", 8, 80, 96, 1152, 400, 4},
    CatalogueRow{"aws", "p5.4xlarge", "H100", 1, 80, 16, 256, 100, 1},
    CatalogueRow{"aws", "p5.48xlarge", "H100", 8, 80, 192, 2048, 3200, 32},
    CatalogueRow{"aws", "p5e.48xlarge", "H200", 8, 141, 192, 2048, 3200, 32},
    CatalogueRow{"aws", "p5en.48xlarge", "H200", 8, 141, 192, 2048, 3200, 16},
    CatalogueRow{"aws", "p6-b200.48xlarge", "B200", 8, 179, 192, 2048, 3200, 8},
    CatalogueRow{"aws", "p6-b300.48xlarge", "B300", 8, 268, 192, 4096, 6400, 16},
    CatalogueRow{"aws", "g4dn.xlarge", "T4", 1, 16, 4, 16, 25, 0},
    CatalogueRow{"aws", "g4dn.12xlarge", "T4", 4, 16, 48, 192, 50, 1},
    CatalogueRow{"aws", "g4dn.metal", "T4", 8, 16, 96, 384, 100, 1},
    CatalogueRow{"aws", "g5.xlarge", "A10G", 1, 24, 4, 16, 10, 0},
    CatalogueRow{"aws", "g5.12xlarge", "A10G", 4, 24, 48, 192, 40, 1},
    CatalogueRow{"aws", "g5.48xlarge", "A10G", 8, 24, 192, 768, 100, 1},
    CatalogueRow{"aws", "g6.xlarge", "L4", 1, 24, 4, 16, 10, 0},
    CatalogueRow{"aws", "g6.12xlarge", "L4", 4, 24, 48, 192, 40, 1},
    CatalogueRow{"aws", "g6.48xlarge", "L4", 8, 24, 192, 768, 100, 1},
    CatalogueRow{"aws", "g6e.xlarge", "L40S", 1, 48, 4, 32, 20, 0},
    CatalogueRow{"aws", "g6e.12xlarge", "L40S", 4, 48, 48, 384, 100, 1},
    CatalogueRow{"aws", "g6e.48xlarge", "L40S", 8, 48, 192, 1536, 400, 4},
};

constexpr std::array<std::string_view, 10> kAlibabaRegions = {
    "cn-hangzhou",   "cn-beijing",  "cn-shanghai",    "cn-shenzhen", "cn-zhangjiakou",
    "cn-wulanchabu", "cn-hongkong", "ap-southeast-1", "us-west-1",   "eu-central-1"};
constexpr std::array<std::string_view, 10> kTencentRegions = {
    "ap-guangzhou", "ap-shanghai", "ap-nanjing",   "ap-beijing",       "ap-chengdu",
    "ap-chongqing", "ap-hongkong", "ap-singapore", "na-siliconvalley", "eu-frankfurt"};
constexpr std::array<std::string_view, 10> kHuaweiRegions = {
    "cn-north-4",     "cn-north-9",     "cn-east-3",  "cn-south-1", "cn-southwest-2",
    "ap-southeast-1", "ap-southeast-3", "af-south-1", "la-south-2", "eu-west-101"};
constexpr std::array<std::string_view, 8> kAwsRegions = {
    "us-east-1",    "us-east-2",      "us-west-2",      "eu-west-1",
    "eu-central-1", "ap-northeast-1", "ap-southeast-1", "ap-south-1"};

/// Returns the rate of a type's RDMA interfaces. EFA has that of the cards, which are the
/// network's.
double rdma_gbit_of(const CatalogueRow& row) {
  return row.cloud == "aws" && row.rdma_interfaces > 0 ? row.network_gbit : row.rdma_gbit;
}

InstanceType type_of(const CatalogueRow& row) {
  return {.name = std::string(row.type),
          .gpu = std::string(row.gpu),
          .gpus = row.gpus,
          .gpu_memory_gib = row.gpu_memory_gib,
          .cores = row.cores,
          .memory_gib = row.memory_gib,
          .network_gbit = row.network_gbit,
          .rdma_interfaces = row.rdma_interfaces,
          .rdma_gbit = rdma_gbit_of(row)};
}

int whole_number(std::string_view digits, std::string_view text) {
  const int value = to_number<int>(digits).value_or(0);
  if (value < 1 || value > 1024)
    throw Error(ErrorKind::usage, "'" + printable(text) +
                                      "' is not a GPU request: write A100, A100:8 or A100-80GB:8");
  return value;
}

}  // namespace

std::span<const CatalogueRow> catalogue() {
  return kRows;
}

std::string plain_gpu_name(std::string_view text) {
  const auto is_between = [](char c) { return c == ' ' || c == '-' || c == '_'; };
  std::string_view name = text;
  for (bool is_cut = true; is_cut;) {
    is_cut = false;
    for (const std::string_view maker : {"NVIDIA", "Nvidia", "nvidia", "Tesla", "tesla"})
      if (name.size() > maker.size() && name.starts_with(maker) && is_between(name[maker.size()])) {
        name.remove_prefix(maker.size());
        while (!name.empty() && is_between(name.front()))
          name.remove_prefix(1);
        is_cut = true;
      }
  }
  name = name.substr(0, name.find('*'));
  for (const std::string_view form : {"-SXM", " SXM", "-PCI", " PCI", "-NVL"})
    name = name.substr(0, name.find(form));
  // "-80G", " 32GB": the memory of one GPU is a fact of its own.
  const std::size_t last = name.find_last_of("- ");
  if (last != std::string_view::npos && last > 0 && last + 1 < name.size() &&
      is_ascii_digit(name[last + 1]) && (name.ends_with('G') || name.ends_with("GB")))
    name = name.substr(0, last);
  return std::string(name);
}

bool same_gpu(std::string_view a, std::string_view b) {
  const auto folded = [](std::string_view name) {
    std::string text;
    for (const char c : plain_gpu_name(name))
      if (c != ' ' && c != '-' && c != '_') text += c;
    return text;
  };
  return http::same_word(folded(a), folded(b));
}

bool suits(const InstanceType& type, const MachineRequest& request) {
  if (!request.type.empty()) return type.name == request.type;
  if (!request.gpu.empty() && !same_gpu(type.gpu, request.gpu)) return false;
  return type.gpus >= request.gpus && type.gpu_memory_gib >= request.gpu_memory_gib;
}

void complete(InstanceType& type, std::string_view cloud) {
  const auto row = std::ranges::find_if(
      kRows, [&](const auto& r) { return r.cloud == cloud && r.type == type.name; });
  if (row == kRows.end()) return;
  if (type.gpu.empty()) type.gpu = row->gpu;
  if (type.gpus == 0) type.gpus = row->gpus;
  if (type.gpu_memory_gib == 0) type.gpu_memory_gib = row->gpu_memory_gib;
  if (type.cores == 0) type.cores = row->cores;
  if (type.memory_gib == 0) type.memory_gib = row->memory_gib;
  if (type.network_gbit == 0) type.network_gbit = row->network_gbit;
  if (type.rdma_interfaces == 0) type.rdma_interfaces = row->rdma_interfaces;
  if (type.rdma_gbit == 0) type.rdma_gbit = rdma_gbit_of(*row);
}

std::string_view rdma_fabric(std::string_view cloud, const InstanceType& type) {
  constexpr std::string_view kSuperComputing = "ecs.scc";
  if (type.rdma_interfaces == 0) return {};
  if (cloud == "aws") return "EFA";
  if (cloud == "tencent") return "RoCE";
  if (cloud == "alibaba") return type.name.starts_with(kSuperComputing) ? "RoCE" : "eRDMA";
  return {};
}

std::vector<InstanceType> known_types(std::string_view cloud, const MachineRequest& request) {
  std::vector<InstanceType> types;
  for (const CatalogueRow& row : kRows)
    if (row.cloud == cloud)
      if (InstanceType type = type_of(row); suits(type, request)) types.push_back(std::move(type));
  if (types.empty() && !request.type.empty()) types.push_back({.name = request.type});
  return types;
}

std::vector<std::string> types_with_rdma(std::span<const std::string_view> clouds,
                                         const MachineRequest& request) {
  std::vector<std::string> fitting;
  std::vector<std::string> others;
  for (const CatalogueRow& row : kRows) {
    if (row.rdma_interfaces == 0 || !contains(clouds, row.cloud)) continue;
    const bool fits = suits(type_of(row), {.gpu = request.gpu, .gpus = request.gpus});
    (fits ? fitting : others).emplace_back(row.type);
  }
  return fitting.empty() ? others : fitting;
}

std::span<const std::string_view> usual_regions(std::string_view cloud) {
  if (cloud == "alibaba") return kAlibabaRegions;
  if (cloud == "tencent") return kTencentRegions;
  if (cloud == "huawei") return kHuaweiRegions;
  return kAwsRegions;
}

std::vector<std::string> Cloud::usual_regions() {
  const auto usual = cloud::usual_regions(name());
  return {usual.begin(), usual.end()};
}

void parse_gpus(std::string_view text, MachineRequest& request) {
  const std::size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  request.gpus = colon == std::string_view::npos ? 1 : whole_number(text.substr(colon + 1), text);
  const std::size_t dash = name.rfind('-');
  if (dash != std::string_view::npos && (name.ends_with("GB") || name.ends_with("G"))) {
    std::string_view size = name.substr(dash + 1);
    size = size.substr(0, size.find('G'));
    request.gpu_memory_gib = whole_number(size, text);
    name = name.substr(0, dash);
  }
  if (name.empty()) whole_number("", text);
  request.gpu = std::string(name);
}

}  // namespace fastgpu::provision::cloud
