// Runs command lines in this process, with strings in place of the terminal.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/program/app.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::cli::test {

/// The user's side of the program: only the variables that are set here.
class Session {
 public:
  Session()
      : ui(out, err, {}, [] { return std::string(); }),
        context(ui, cancel, environment(), names()) {
    context.set_state_directory(directory.path());
  }

  int run(const std::vector<std::string>& words) { return run_app(words, context); }

  std::map<std::string, std::string> variables;
  fastgpu::test::TempDirectory directory;
  Cancel cancel;
  StringSink out;
  StringSink err;
  Ui ui;
  Context context;

 private:
  state::Environment environment() {
    return [this](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    };
  }

  VariableNames names() {
    return [this] {
      std::vector<std::string> all;
      for (const auto& [name, value] : variables)
        all.push_back(name);
      return all;
    };
  }
};

/// Records a running cluster with as many nodes.
inline state::Cluster put_cluster(Session& session, const std::string& name, int nodes) {
  state::Cluster cluster{.id = {"0a1b2c3d"}, .name = {name}, .provider = "static"};
  cluster.state = state::ClusterState::running;
  session.context.store().insert_cluster(cluster);
  for (int i = 0; i < nodes; ++i) {
    state::Node node{.cluster = cluster.id, .index = i, .name = {name + "-" + std::to_string(i)}};
    node.state = state::NodeState::running;
    session.context.store().put_node(node);
  }
  return cluster;
}

}  // namespace fastgpu::cli::test
