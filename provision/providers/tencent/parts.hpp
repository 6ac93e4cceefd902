// One region's parts of clusters in Tencent Cloud, found, made and removed one by one.
#pragma once

#include <functional>

#include "provision/cloud/find_or_make.hpp"
#include "provision/cloud/model.hpp"
#include "provision/providers/tencent/tencent_api.hpp"

namespace fastgpu::provision::tencent {

/// How one kind of part is listed, made and removed.
struct Kind {
  const char* name;     ///< Ours.
  const char* service;  ///< Whose it is.
  const char* listed_by;
  const char* list;  ///< Member of the answer that holds the list.
  const char* id;    ///< Member of its identity.
  const char* tags;  ///< Member of its tags.
  const char* made_by;
  const char* made;  ///< Member of that answer.
  const char* removed_by;
};

inline constexpr Kind kHpc = {.name = "hpc-cluster",
                              .service = "cvm",
                              .listed_by = "DescribeHpcClusters",
                              .list = "HpcClusterSet",
                              .id = "HpcClusterId",
                              .tags = "Tags",
                              .made_by = "CreateHpcCluster",
                              .made = "HpcClusterSet",
                              .removed_by = "DeleteHpcClusters"};
inline constexpr Kind kGroup = {.name = "security-group",
                                .service = "vpc",
                                .listed_by = "DescribeSecurityGroups",
                                .list = "SecurityGroupSet",
                                .id = "SecurityGroupId",
                                .tags = "TagSet",
                                .made_by = "CreateSecurityGroup",
                                .made = "SecurityGroup",
                                .removed_by = "DeleteSecurityGroup"};
inline constexpr Kind kSubnet = {.name = "subnet",
                                 .service = "vpc",
                                 .listed_by = "DescribeSubnets",
                                 .list = "SubnetSet",
                                 .id = "SubnetId",
                                 .tags = "TagSet",
                                 .made_by = "CreateSubnet",
                                 .made = "Subnet",
                                 .removed_by = "DeleteSubnet"};
inline constexpr Kind kVpc = {.name = "vpc",
                              .service = "vpc",
                              .listed_by = "DescribeVpcs",
                              .list = "VpcSet",
                              .id = "VpcId",
                              .tags = "TagSet",
                              .made_by = "CreateVpc",
                              .made = "Vpc",
                              .removed_by = "DeleteVpc"};

struct Found {
  std::string id;
  cloud::Marks marks;
};

/// May be used by several threads.
class PartsCalls {
 public:
  using Wait = std::function<void(std::chrono::milliseconds, const Cancel&)>;

  /// Borrows all but the region.
  PartsCalls(TencentApi& api, const Wait& wait, std::string region, const Cancel& cancel)
      : api_(api), wait_(wait), region_(std::move(region)), cancel_(cancel) {}

  /// Those that a listing with the parameters tells.
  std::vector<Found> find(const Kind& kind, json body);

  /// Those with the cluster's mark or, for an empty identity, any cluster's, among what a listing
  /// with the parameters tells.
  std::vector<Found> find_marked(const Kind& kind, const state::ClusterId& cluster,
                                 json body = json::object());

  /// Its identity; empty where there is none; throws conflict where there are several. `what` says
  /// what they have in common: "called 'x'".
  std::string only(const std::vector<Found>& found, const Kind& kind,
                   const std::string& what) const;

  /// What `look` finds, or else one that is made. These calls have no tokens: after one whose
  /// answer was lost, it is looked again before another is made.
  cloud::FoundOrMade find_or_make(const Kind& kind, const std::function<std::string()>& look,
                                  const json& body, bool may_be_there = true);

  /// One that is gone already is a success.
  void remove(const Kind& kind, const std::string& id);

  /// The policies of a security group: "Ingress" and "Egress".
  Document policies(const std::string& group);

  /// Of one direction; none for an empty list.
  void add_policies(const std::string& group, const char* direction, const json& policies);

 private:
  std::string make(const Kind& kind, const json& body);

  TencentApi& api_;
  const Wait& wait_;
  std::string region_;
  const Cancel& cancel_;
};

}  // namespace fastgpu::provision::tencent
