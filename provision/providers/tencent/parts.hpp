// The parts of clusters in one region of Tencent Cloud: finds, makes and removes them one by one.
#pragma once

#include <functional>

#include "provision/cloud/find_or_make.hpp"
#include "provision/cloud/model.hpp"
#include "provision/polling.hpp"
#include "provision/providers/tencent/tencent_api.hpp"

namespace fastgpu::provision::tencent {

/// The calls that list, make and remove one kind of part.
struct Kind {
  const char* name;     ///< The name of the kind in fastgpu.
  const char* service;  ///< The service that has the calls.
  const char* listed_by;
  const char* list;  ///< The member of the answer with the list.
  const char* id;    ///< The member with the identity.
  const char* tags;  ///< The member with the tags.
  const char* made_by;
  const char* made;  ///< The member of that answer.
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

struct FoundPart {
  std::string id;
  cloud::OwnerTags marks;
};

/// The calls about parts. Several threads may use one.
class PartsCalls {
 public:
  /// Borrows everything except the region.
  PartsCalls(TencentApi& api, const Wait& wait, std::string region, const Cancel& cancel)
      : api_(api), wait_(wait), region_(std::move(region)), cancel_(cancel) {}

  /// Returns the parts in a listing with these parameters.
  std::vector<FoundPart> find(const Kind& kind, json body);

  /// Returns the parts in such a listing with the cluster's mark or, for an empty identity, with
  /// any cluster's mark.
  std::vector<FoundPart> find_marked(const Kind& kind, const state::ClusterId& cluster,
                                     json body = json::object());

  /// Returns the identity of the only part; empty for an empty list. Throws conflict for several;
  /// `what` names what they have in common: "called 'x'".
  std::string only(const std::vector<FoundPart>& found, const Kind& kind,
                   const std::string& what) const;

  /// Returns the part that `look` finds, or a new one. These calls have no tokens: after a lost
  /// answer, `look` is called again before another part is made.
  cloud::FoundOrMade find_or_make(const Kind& kind, const std::function<std::string()>& look,
                                  const json& body, bool may_be_there = true);

  /// Removes a part. Succeeds for one that is gone already.
  void remove(const Kind& kind, const std::string& id);

  /// Returns the policies of a security group: "Ingress" and "Egress".
  JsonAnswer policies(const std::string& group);

  /// Adds policies of one direction. Does nothing for an empty list.
  void add_policies(const std::string& group, const char* direction, const json& policies);

  /// Removes policies of one direction. Succeeds for one that is gone already.
  void remove_policies(const std::string& group, const char* direction, const json& policies);

 private:
  std::string make(const Kind& kind, const json& body);

  TencentCall call_of_policies(const std::string& action, const std::string& doing,
                               const std::string& group, const char* direction,
                               const json& policies) const;

  TencentApi& api_;
  const Wait& wait_;
  std::string region_;
  const Cancel& cancel_;
};

}  // namespace fastgpu::provision::tencent
