#include "provision/providers/aws/network_parts.hpp"

#include "base/error.hpp"
#include "provision/cloud/failure.hpp"
#include "provision/cloud/find_or_make.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::OwnerTags;

std::string interface_text(const pugi::xml_node& one) {
  const std::string machine = one.child("attachment").child_value("instanceId");
  const std::string owner = machine.empty() ? one.child_value("description") : machine;
  return std::string(one.child_value("networkInterfaceId")) + (owner.empty() ? "" : " of " + owner);
}

void note(const pugi::xml_node& tag, OwnerTags& marks) {
  const std::string_view key = tag.child_value("key");
  const std::string value = tag.child_value("value");
  if (key == cloud::kClusterTag) marks.cluster = {value};
  if (key == cloud::kNameTag) marks.cluster_name = value;
  if (key == cloud::kOwnerTag) marks.owner = value;
}

}  // namespace

Ec2::Document Network::call(const std::string& action, Parameters parameters,
                            const std::string& doing) {
  return ec2_.call(made(action, std::move(parameters), doing), cancel_);
}

void Network::remove(const std::string& action, Parameters parameters, const std::string& doing) {
  Ec2Call call = made(action, std::move(parameters), doing);
  call.outwaits_use = false;
  call_unless(cloud::FailureKind::not_found, call);
}

void Network::arrange(const std::string& action, Parameters parameters, const std::string& doing) {
  call_unless(cloud::FailureKind::done_already, made(action, std::move(parameters), doing));
}

Listed Network::find(const PartKind& kind, const Filters& filters) {
  Parameters parameters;
  int n = 0;
  for (const auto& [name, value] : filters)
    add_filter(parameters, ++n, name, {value});
  Listed found{call(kind.listed_by, parameters, std::string("looking for a ") + kind.name), {}};
  found.parts = items(found.document->document_element(), kind.set);
  return found;
}

std::string Network::find_one(const PartKind& kind, const Filters& filters) {
  const Listed found = find(kind, filters);
  if (found.parts.size() > 1)
    throw Error(ErrorKind::conflict, "aws: " + std::to_string(found.parts.size()) + " " +
                                         kind.name + "s in " + region_ + " have " +
                                         filters.front().first + " " + filters.front().second +
                                         ": the choice is ambiguous");
  return found.empty() ? "" : found.front().child_value(kind.id);
}

Bearers Network::bearers(const state::ClusterId& cluster) {
  Ec2Call call = made("DescribeTags", {}, "looking for our marked resources");
  add_filter(call.parameters, 1, "resource-type",
             {kGroup.name, kSubnet.name, kGateway.name, kVpc.name, kPlacement.name});
  std::vector<std::string> keys = {std::string(cloud::kClusterTag)};
  if (cluster.value.empty())
    keys.insert(keys.end(), {std::string(cloud::kNameTag), std::string(cloud::kOwnerTag)});
  add_filter(call.parameters, 2, "key", keys);
  if (!cluster.value.empty()) add_filter(call.parameters, 3, "value", {cluster.value});
  Bearers found;
  ec2_.pages(
      call,
      [&](const pugi::xml_node& root) {
        for (const pugi::xml_node& tag : items(root, "tagSet"))
          note(tag, found[tag.child_value("resourceType")][tag.child_value("resourceId")]);
      },
      cancel_);
  return found;
}

std::vector<std::string> Network::interfaces_in(const std::string& vpc) {
  Ec2Call call = made("DescribeNetworkInterfaces", {}, "looking for the users of " + vpc);
  add_filter(call.parameters, 1, "vpc-id", {vpc});
  std::vector<std::string> found;
  try {
    ec2_.pages(
        call,
        [&](const pugi::xml_node& root) {
          for (const pugi::xml_node& one : items(root, "networkInterfaceSet"))
            found.push_back(interface_text(one));
        },
        cancel_);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::denied) throw;
  }
  return found;
}

std::string Network::find_or_make(const std::function<std::string()>& look, const Making& making,
                                  const OwnerTags& marks, bool may_be_there) {
  return cloud::find_or_make(
             look, [&] { return make(making, marks); }, wait_, cancel_, may_be_there)
      .id;
}

void Network::call_unless(cloud::FailureKind fine, const Ec2Call& call) {
  const auto failure = ec2_.try_call(call, cancel_);
  if (failure && failure->kind != fine) throw cloud::error_of(*failure, "aws: " + call.doing);
}

std::string Network::make(const Making& making, const OwnerTags& marks) {
  Ec2Call call = made(making.action, making.parameters, std::string("making a ") + making.type);
  call.is_repeatable = false;
  call.parameters.emplace_back("TagSpecification.1.ResourceType", making.type);
  add_tags(call.parameters, "TagSpecification.1", marks);
  const auto answer = ec2_.call(call, cancel_);
  std::string id = making.id_in(answer->document_element());
  if (id.empty())
    throw Error(ErrorKind::remote,
                std::string("the answer of aws to ") + making.action + " has no identity");
  return id;
}

}  // namespace fastgpu::provision::aws
