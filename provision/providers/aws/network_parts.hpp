// The parts of a network in one region of AWS: how each kind is found, made and removed.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "provision/cloud/model.hpp"
#include "provision/polling.hpp"
#include "provision/providers/aws/ec2.hpp"

namespace fastgpu::provision::aws {

/// The calls that list, make and remove one kind of part.
struct PartKind {
  const char* name;        ///< The name of the kind in fastgpu.
  const char* listed_by;   ///< The action.
  const char* set;         ///< The element of the answer with the list.
  const char* id;          ///< The element with the identity.
  const char* removed_by;  ///< The action.
  const char* parameter;   ///< The parameter of that action.
};

inline constexpr PartKind kGroup = {"security-group", "DescribeSecurityGroups", "securityGroupInfo",
                                    "groupId",        "DeleteSecurityGroup",    "GroupId"};
inline constexpr PartKind kSubnet = {"subnet",   "DescribeSubnets", "subnetSet",
                                     "subnetId", "DeleteSubnet",    "SubnetId"};
inline constexpr PartKind kGateway = {"internet-gateway",      "DescribeInternetGateways",
                                      "internetGatewaySet",    "internetGatewayId",
                                      "DeleteInternetGateway", "InternetGatewayId"};
inline constexpr PartKind kVpc = {"vpc", "DescribeVpcs", "vpcSet", "vpcId", "DeleteVpc", "VpcId"};
inline constexpr PartKind kPlacement = {"placement-group",      "DescribePlacementGroups",
                                        "placementGroupSet",    "groupName",
                                        "DeletePlacementGroup", "GroupName"};

using Filters = std::vector<std::pair<std::string, std::string>>;

/// A call that makes a part.
struct Making {
  const char* action;
  const char* type;  ///< The type of the resource, for its tags.
  Parameters parameters;
  /// Returns the identity from the answer's root.
  std::function<std::string(const pugi::xml_node&)> id_in;
};

/// Parts, with the document that holds them.
struct Listed {
  Ec2::Document document;
  std::vector<pugi::xml_node> parts;

  bool empty() const { return parts.empty(); }
  const pugi::xml_node& front() const { return parts.front(); }
};

/// The marks on our resources, by EC2's name of the kind and by identity.
using Bearers = std::map<std::string, std::map<std::string, cloud::OwnerTags>>;

/// A finder and maker of parts in one region. Several threads may use one.
class Network {
 public:
  /// Borrows all but `region`.
  Network(Ec2& ec2, std::string region, const Wait& wait, const Cancel& cancel)
      : ec2_(ec2), region_(std::move(region)), wait_(wait), cancel_(cancel) {}

  Ec2::Document call(const std::string& action, Parameters parameters, const std::string& doing);

  /// Calls as `call` does; succeeds if the resource is gone already.
  void remove(const std::string& action, Parameters parameters, const std::string& doing);

  /// Calls as `call` does; succeeds if it was done before, for example by a call whose answer was
  /// lost.
  void arrange(const std::string& action, Parameters parameters, const std::string& doing);

  Listed find(const PartKind& kind, const Filters& filters);

  /// Returns the identity of the only match; empty without a match. Throws conflict for several.
  std::string find_one(const PartKind& kind, const Filters& filters);

  /// Returns every part with the cluster's mark, or with any cluster's mark for an empty identity.
  /// One question covers all kinds.
  Bearers bearers(const state::ClusterId& cluster);

  /// Returns the network interfaces in a VPC, as text: "eni-0a1b of i-0c2d". Each machine, load
  /// balancer, database or mount target in a VPC has one there. Empty if the account may not list
  /// them.
  std::vector<std::string> interfaces_in(const std::string& vpc);

  const std::string& region() const noexcept { return region_; }

  /// Returns the identity that `look` finds, or that of a new part. These calls have no idempotency
  /// tokens: after a lost answer, `look` is called again before another part is made. The first
  /// look is left out if the part cannot exist yet.
  std::string find_or_make(const std::function<std::string()>& look, const Making& making,
                           const cloud::OwnerTags& marks, bool may_be_there);

 private:
  Ec2Call made(const std::string& action, Parameters parameters, const std::string& doing) const {
    return {region_, action, std::move(parameters), doing + " in " + region_};
  }

  void call_unless(cloud::FailureKind fine, const Ec2Call& call);
  std::string make(const Making& making, const cloud::OwnerTags& marks);

  Ec2& ec2_;
  std::string region_;
  const Wait& wait_;
  const Cancel& cancel_;
};

}  // namespace fastgpu::provision::aws
