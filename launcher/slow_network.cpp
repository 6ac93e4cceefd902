#include "launcher/slow_network.hpp"

#include <cstddef>
#include <optional>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "process/command.hpp"

namespace fastgpu::launcher {
namespace {

constexpr std::size_t kMostReason = 400;

/// The network that the variables of a job choose. The library takes an empty one for absent.
struct Choice {
  std::string transport;
  std::string provider;
  std::string requirement;

  explicit Choice(const JobSpec& spec)
      : transport(process::variable(spec.environment, "FASTGPU_COMM_TRANSPORT").value_or("")),
        provider(process::variable(spec.environment, "FASTGPU_COMM_FABRIC").value_or("")),
        requirement(process::variable(spec.environment, "FASTGPU_COMM_REQUIRE").value_or("")) {}

  bool is_without_fabric() const {
    return transport == "tcp" || transport == "mpi" || provider == "off";
  }
  /// Returns whether the provider that is named uses the devices that the kernel shows as RDMA.
  bool names_rdma() const {
    const std::string name = provider.substr(0, provider.find(';'));
    return name == "verbs" || name == "efa";
  }
  bool is_by_device() const {
    return !is_without_fabric() && (provider.empty() || provider == "auto" || names_rdma());
  }
  /// Returns the wish that makes a missing device an error; empty for none.
  std::string wish() const {
    if (requirement == "fabric") return std::string(kFabricIsRequired);
    return names_rdma() ? "FASTGPU_COMM_FABRIC is '" + printable(provider) + "'" : "";
  }
};

/// Throws ErrorKind::usage for wishes that the library refuses.
void check_wishes(const Choice& choice) {
  const bool is_known =
      choice.requirement.empty() || choice.requirement == "any" || choice.requirement == "fabric";
  if (!is_known)
    throw Error(ErrorKind::usage, "FASTGPU_COMM_REQUIRE is '" + printable(choice.requirement) +
                                      "', not one of any, fabric");
  if (choice.requirement == "fabric" && choice.is_without_fabric())
    throw Error(ErrorKind::usage,
                "FASTGPU_COMM_REQUIRE is 'fabric', but FASTGPU_COMM_TRANSPORT or "
                "FASTGPU_COMM_FABRIC does without one");
}

/// Returns what is wrong with the device of a node that has one, or with a node that lacks one
/// while another node has one; empty if nothing is.
std::string reason_at(const JobFilesRequest& request, std::span<const agent::JobNodeFacts> facts,
                      std::size_t place) {
  const std::string name = request.nodes[place].ranks.node.value;
  const agent::JobNodeFacts& node = facts[place];
  if (node.rdma_device.empty()) return name + " has no RDMA device";
  if (node.rdma_obstacle.empty()) return {};
  return "ranks on " + name + " cannot use its RDMA device " + printable(node.rdma_device) + ": " +
         printable(node.rdma_obstacle, kMostReason);
}

/// Returns the node that the message is about: the first one whose device cannot be used, else the
/// first one that lacks a device. Absent if all can be used.
std::optional<std::size_t> first_without(std::span<const agent::JobNodeFacts> facts) {
  std::optional<std::size_t> lacking;
  for (std::size_t place = 0; place < facts.size(); ++place) {
    if (!facts[place].rdma_obstacle.empty()) return place;
    if (facts[place].rdma_device.empty() && !lacking) lacking = place;
  }
  return lacking;
}

/// Returns how many other nodes have an obstacle or lack a device.
std::string others_than(std::span<const agent::JobNodeFacts> facts) {
  std::size_t count = 0;
  for (const agent::JobNodeFacts& node : facts)
    count += node.rdma_device.empty() || !node.rdma_obstacle.empty() ? 1 : 0;
  if (count < 2) return {};
  return " (and " + counted(count - 1, "other node") + " cannot use one either)";
}

}  // namespace

std::string check_fabric(const JobFilesRequest& request,
                         std::span<const agent::JobNodeFacts> facts) {
  const Choice choice(request.spec);
  check_wishes(choice);
  if (request.nodes.size() < 2 || !choice.is_by_device()) return {};
  const auto place = first_without(facts);
  if (!place) return {};
  const std::string reason = reason_at(request, facts, *place) + others_than(facts);
  if (const std::string wish = choice.wish(); !wish.empty())
    throw Error(ErrorKind::capacity, wish + ", but " + reason);
  for (std::size_t other = 0; other < facts.size(); ++other) {
    if (facts[other].rdma_device.empty()) continue;
    const std::string device = facts[*place].rdma_device.empty()
                                   ? request.nodes[other].ranks.node.value +
                                         " has the RDMA device " +
                                         printable(facts[other].rdma_device) + ", but "
                                   : "";
    return device + reason +
           "; TCP carries their messages (-e FASTGPU_COMM_REQUIRE=fabric makes this an error, -e "
           "FASTGPU_COMM_TRANSPORT=tcp hides it)";
  }
  return {};
}

}  // namespace fastgpu::launcher
