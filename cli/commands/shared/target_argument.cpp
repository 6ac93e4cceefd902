#include "cli/commands/shared/target_argument.hpp"

namespace fastgpu::cli {
namespace {

void describe_required(Arguments& arguments, std::string_view name, std::string_view help,
                       std::string& target) {
  Argument& argument = arguments.text(name, "", help, target);
  argument.required = true;
  argument.values = Values::target;
}

}  // namespace

void describe_target(Arguments& arguments, std::string& target, std::string_view help) {
  describe_required(arguments, "CLUSTER[/NODES]", help, target);
}

void describe_one_node(Arguments& arguments, std::string& target) {
  describe_required(arguments, "CLUSTER[/NODE]", "The node (the first one)", target);
}

Argument& describe_cluster_flag(Arguments& arguments, std::string& target) {
  Argument& cluster = shared(arguments.text("--cluster", "CLUSTER[/NODES]",
                                            "Cluster or nodes to use (the only cluster)", target));
  cluster.letter = "-c";
  cluster.values = Values::target;
  return cluster;
}

}  // namespace fastgpu::cli
