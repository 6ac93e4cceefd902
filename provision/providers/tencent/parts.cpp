#include "provision/providers/tencent/parts.hpp"

#include "provision/providers/tencent/machines.hpp"

namespace fastgpu::provision::tencent {
namespace {

using namespace std::chrono_literals;

/// Returns true for the kind that is listed without filters, and removed by a list.
bool is_hpc_kind(const Kind& kind) {
  return kind.name == std::string_view(kHpc.name);
}

}  // namespace

std::vector<FoundPart> PartsCalls::find(const Kind& kind, json body) {
  const auto items = api_.list({.service = kind.service,
                                .region = region_,
                                .action = kind.listed_by,
                                .body = std::move(body),
                                .doing = std::string("looking for a ") + kind.name},
                               kind.list, cancel_);
  std::vector<FoundPart> found;
  for (const JsonAnswer& item : items)
    if (std::string id = Answer(item)[kind.id].text(); !id.empty())
      found.push_back({std::move(id), marks_in(Answer(item)[kind.tags])});
  return found;
}

std::vector<FoundPart> PartsCalls::find_marked(const Kind& kind, const state::ClusterId& cluster,
                                               json body) {
  if (!is_hpc_kind(kind)) body["Filters"] = json::array({marked(cluster)});
  std::vector<FoundPart> found = find(kind, std::move(body));
  std::erase_if(found, [&](const FoundPart& part) {
    const std::string& mark = part.marks.cluster.value;
    return mark.empty() || (!cluster.value.empty() && mark != cluster.value);
  });
  return found;
}

std::string PartsCalls::only(const std::vector<FoundPart>& found, const Kind& kind,
                             const std::string& what) const {
  if (found.size() > 1)
    throw Error(ErrorKind::conflict, "tencent: " + std::to_string(found.size()) + " " + kind.name +
                                         "s in " + region_ + " are " + what +
                                         ": the choice is ambiguous");
  return found.empty() ? "" : found.front().id;
}

cloud::FoundOrMade PartsCalls::find_or_make(const Kind& kind,
                                            const std::function<std::string()>& look,
                                            const json& body, bool may_be_there) {
  return cloud::find_or_make(
      look, [&] { return make(kind, body); }, wait_, cancel_, may_be_there);
}

std::string PartsCalls::make(const Kind& kind, const json& body) {
  const JsonAnswer answer = api_.call({.service = kind.service,
                                       .region = region_,
                                       .action = kind.made_by,
                                       .body = body,
                                       .doing = std::string("making a ") + kind.name,
                                       .is_repeatable = false},
                                      cancel_);
  const Answer made = Answer(answer)[kind.made];
  const auto items = made.items();
  std::string id = (items.empty() ? made : items.front())[kind.id].text();
  if (id.empty())
    throw Error(ErrorKind::remote,
                std::string("the answer of tencent to ") + kind.made_by + " has no identity");
  return id;
}

void PartsCalls::remove(const Kind& kind, const std::string& id) {
  const std::string doing = "removing " + id;
  json body = {{kind.id, id}};
  if (is_hpc_kind(kind)) body = {{"HpcClusterIds", json::array({id})}};
  const auto failure = api_.try_call({.service = kind.service,
                                      .region = region_,
                                      .action = kind.removed_by,
                                      .body = std::move(body),
                                      .doing = doing,
                                      .outwaits_use = false},
                                     cancel_);
  if (failure && failure->kind != cloud::FailureKind::not_found)
    throw cloud::error_of(*failure, "tencent: " + doing);
}

JsonAnswer PartsCalls::policies(const std::string& group) {
  JsonAnswer answer = api_.call({.service = "vpc",
                                 .region = region_,
                                 .action = "DescribeSecurityGroupPolicies",
                                 .body = {{"SecurityGroupId", group}},
                                 .doing = "looking at the security group in " + region_},
                                cancel_);
  return answer.take("SecurityGroupPolicySet");
}

// An existing policy comes from an earlier attempt of the same call.
void PartsCalls::add_policies(const std::string& group, const char* direction,
                              const json& policies) {
  if (policies.empty()) return;
  const TencentCall call =
      call_of_policies("CreateSecurityGroupPolicies", "opening", group, direction, policies);
  const auto failure = api_.try_call(call, cancel_);
  if (failure && failure->code != "UnsupportedOperation.DuplicatePolicy")
    throw cloud::error_of(*failure, "tencent: " + call.doing);
}

void PartsCalls::remove_policies(const std::string& group, const char* direction,
                                 const json& policies) {
  const TencentCall call =
      call_of_policies("DeleteSecurityGroupPolicies", "closing", group, direction, policies);
  const auto failure = api_.try_call(call, cancel_);
  if (failure && failure->kind != cloud::FailureKind::not_found)
    throw cloud::error_of(*failure, "tencent: " + call.doing);
}

TencentCall PartsCalls::call_of_policies(const std::string& action, const std::string& doing,
                                         const std::string& group, const char* direction,
                                         const json& policies) const {
  return {.service = "vpc",
          .region = region_,
          .action = action,
          .body = {{"SecurityGroupId", group}, {"SecurityGroupPolicySet", {{direction, policies}}}},
          .doing = doing + " the security group in " + region_};
}

}  // namespace fastgpu::provision::tencent
