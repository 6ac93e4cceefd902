#include "provision/cloud/catalogue.hpp"

#include <doctest/doctest.h>

#include <set>

#include "base/contains.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

using test::failure_of;
using test::mentions;

MachineRequest wish_for(const std::string& text) {
  MachineRequest request;
  parse_gpus(text, request);
  return request;
}

TEST_CASE("a request for GPUs names the GPU, its memory and how many a node has") {
  CHECK(wish_for("A100").gpu == "A100");
  CHECK(wish_for("A100").gpus == 1);
  CHECK(wish_for("A100:8").gpus == 8);
  CHECK(wish_for("A100-80GB:8").gpu == "A100");
  CHECK(wish_for("A100-80GB:8").gpu_memory_gib == 80);
  CHECK(wish_for("a100-40g:2").gpu == "a100-40g");
}

TEST_CASE("what is no request for GPUs is refused with the value met") {
  for (const char* text :
       {"", ":8", "A100:", "A100:0", "A100:-1", "A100:x", "A100:8:8", "A100:99999"}) {
    CAPTURE(text);
    MachineRequest request;
    const Error refused = failure_of([&] { parse_gpus(text, request); });
    CHECK(refused.kind() == ErrorKind::usage);
    CHECK(mentions(refused, "A100:8"));
  }
}

TEST_CASE("every row is a machine that can be, and no type stands there twice") {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const CatalogueRow& row : catalogue()) {
    CAPTURE(row.type);
    CHECK(seen.emplace(row.cloud, row.type).second);
    CHECK(!row.gpu.empty());
    CHECK(row.cores > 0);
    CHECK(row.memory_gib > 0);
    CHECK(row.gpus <= 16);
  }
}

TEST_CASE("types suit a request by name of the GPU, memory and number") {
  for (const InstanceType& type : known_types("aws", wish_for("A100-80GB:8"))) {
    CHECK(type.gpu == "A100");
    CHECK(type.gpu_memory_gib >= 80);
    CHECK(type.gpus >= 8);
  }
  CHECK(known_types("aws", wish_for("A100-80GB:8")).size() == 1);
  CHECK(known_types("aws", wish_for("a100:8")).size() == 2);
  CHECK(known_types("aws", wish_for("A100:16")).empty());
  CHECK(known_types("aws", {.type = "never.heard"}).front().name == "never.heard");
}

TEST_CASE("what an API tells of a type overrules the rows, which fill in the rest") {
  InstanceType type{.name = "p4d.24xlarge", .gpus = 7};
  complete(type, "aws");
  CHECK(type.gpus == 7);
  CHECK(type.gpu == "A100");
  CHECK(type.network_gbit == 400);
  InstanceType unknown{.name = "new.type"};
  complete(unknown, "aws");
  CHECK(unknown.gpus == 0);
}

TEST_CASE("a GPU is one whatever its maker, form and case are called") {
  for (const auto& [written, plain] : {std::pair("NVIDIA A100", "A100"),
                                       {"NVIDIA Tesla A100-80G", "A100"},
                                       {"A100-SXM4-80GB", "A100"},
                                       {"Tesla T4", "T4"},
                                       {"L40S", "L40S"},
                                       {"NVIDIA RTX PRO 6000", "RTX PRO 6000"},
                                       {"RTX PRO Server 6000", "RTX PRO Server 6000"},
                                       {"V100*8", "V100"},
                                       {"", ""},
                                       {"NVIDIA", "NVIDIA"}})
    CHECK(plain_gpu_name(written) == plain);
  CHECK(same_gpu("rtx-pro-server-6000", "RTX PRO Server 6000"));
  CHECK(same_gpu("NVIDIA H20", "h20"));
  CHECK_FALSE(same_gpu("A10", "A10G"));
  CHECK_FALSE(same_gpu("A100", "A10"));
}

TEST_CASE("the types with RDMA are those with the GPUs that are wished, where any has both") {
  const std::string_view aws[] = {"aws"};
  const auto with_h100 = types_with_rdma(aws, {.gpu = "H100", .gpus = 8});
  CHECK(contains(with_h100, "p5.48xlarge"));
  CHECK(!contains(with_h100, "p4d.24xlarge"));
  const auto all = types_with_rdma(aws, {.gpu = "V1"});
  CHECK(contains(all, "p4d.24xlarge"));
  const std::string_view huawei[] = {"huawei"};
  CHECK(types_with_rdma(huawei, {}).empty());
}

TEST_CASE("the kind and the rate of RDMA are those of the cloud, or unknown") {
  const auto known = [](std::string_view cloud, const char* name) {
    InstanceType type{.name = name};
    complete(type, cloud);
    return type;
  };
  const auto fabric = [&](std::string_view cloud, const char* name) {
    return rdma_fabric(cloud, known(cloud, name));
  };
  CHECK(fabric("aws", "p4d.24xlarge") == "EFA");
  CHECK(fabric("aws", "g5.xlarge").empty());
  CHECK(fabric("alibaba", "ecs.ebmgn8is.32xlarge") == "eRDMA");
  CHECK(fabric("alibaba", "ecs.sccgn6.24xlarge") == "RoCE");
  CHECK(rdma_fabric("tencent", {.rdma_interfaces = 1}) == "RoCE");
  CHECK(known("aws", "p4d.24xlarge").rdma_gbit == 400);
  CHECK(known("aws", "g5.xlarge").rdma_gbit == 0);
  CHECK(known("alibaba", "ecs.sccgn6.24xlarge").rdma_gbit == 50);
  CHECK(known("alibaba", "ecs.ebmgn7ex.32xlarge").rdma_gbit == 0);
  InstanceType told{.name = "p4d.24xlarge", .rdma_gbit = 100};
  complete(told, "aws");
  CHECK(told.rdma_gbit == 100);
}

}  // namespace
}  // namespace fastgpu::provision::cloud
