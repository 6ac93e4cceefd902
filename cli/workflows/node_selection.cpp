#include "cli/workflows/node_selection.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "cli/workflows/name_folding.hpp"

namespace fastgpu::cli {
namespace {

using Nodes = std::vector<state::Node>;

struct BuiltInGroup {
  std::string_view name;
  bool (*has)(const state::Node&);
};

constexpr std::array kGroups = {
    BuiltInGroup{"head", [](const state::Node& node) { return node.index == 0; }},
    BuiltInGroup{"workers", [](const state::Node& node) { return node.index != 0; }},
    BuiltInGroup{"running",
                 [](const state::Node& node) { return node.state == state::NodeState::running; }},
    BuiltInGroup{"stopped",
                 [](const state::Node& node) { return node.state == state::NodeState::stopped; }},
    BuiltInGroup{"lost",
                 [](const state::Node& node) { return node.state == state::NodeState::lost; }},
};

bool is_index(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_ascii_digit);
}

bool answers_to(const state::Node& node, const std::string& word) {
  return node.name.value == word || (is_index(word) && std::to_string(node.index) == word);
}

class Selection {
 public:
  Selection(const state::Cluster& cluster, const Nodes& nodes, const FindGroup& find_group)
      : cluster_(cluster), nodes_(nodes), find_group_(find_group), chosen_(nodes.size()) {}

  /// Sets `is_chosen` for all nodes that `text` names. Refuses unknown words.
  void mark(std::string_view text, bool is_chosen) {
    for (const std::string& word : unfold_names(text)) {
      const bool found = word.starts_with('@') ? mark_group(word.substr(1), is_chosen)
                                               : mark_word(word, is_chosen);
      if (!found) refuse(word);
    }
  }
  void mark_all() { chosen_.assign(chosen_.size(), true); }

  Nodes chosen() const {
    Nodes chosen;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (chosen_[i]) chosen.push_back(nodes_[i]);
    return chosen;
  }

 private:
  bool mark_word(const std::string& word, bool is_chosen) {
    bool found = false;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!answers_to(nodes_[i], word)) continue;
      found = true;
      chosen_[i] = is_chosen;
    }
    return found;
  }

  bool mark_group(const std::string& name, bool is_chosen) {
    if (const auto text = find_group_(name)) {
      for (const std::string& word : unfold_names(*text))
        mark_word(word, is_chosen);
      return true;
    }
    const auto group = std::ranges::find(kGroups, name, &BuiltInGroup::name);
    if (group == kGroups.end()) return false;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (group->has(nodes_[i])) chosen_[i] = is_chosen;
    return true;
  }

  [[noreturn]] void refuse(const std::string& word) const {
    const bool is_group = word.starts_with('@');
    std::vector<std::string> known;
    for (const BuiltInGroup& group : kGroups)
      if (is_group) known.push_back("@" + std::string(group.name));
    for (const state::Node& node : nodes_)
      if (!is_group) known.push_back(node.name.value);
    const std::string near = nearest_name(word, known);
    const std::string what =
        is_group ? "there is no node group" : "cluster " + cluster_.name.value + " has no node";
    const std::string list = is_group ? "'groups' in fastgpu.yaml names some"
                                      : "fastgpu get nodes " + cluster_.name.value + " lists them";
    throw Error(ErrorKind::not_found,
                what + " '" + printable(word) + "'" +
                    (near.empty() ? "; " + list : ", did you mean " + near + "?"));
  }

  const state::Cluster& cluster_;
  const Nodes& nodes_;
  const FindGroup& find_group_;
  std::vector<bool> chosen_;
};

}  // namespace

std::vector<state::Node> select_nodes(const state::Cluster& cluster, const Nodes& nodes,
                                      std::string_view node_set, const FindGroup& find_group) {
  Selection selection(cluster, nodes, find_group);
  const std::size_t first = std::min(node_set.find('!'), node_set.size());
  if (first == 0)
    selection.mark_all();
  else
    selection.mark(node_set.substr(0, first), true);
  std::size_t at = first;
  while (at < node_set.size()) {
    const std::size_t end = std::min(node_set.find('!', at + 1), node_set.size());
    selection.mark(node_set.substr(at + 1, end - at - 1), false);
    at = end;
  }
  Nodes chosen = selection.chosen();
  if (chosen.empty() && !nodes.empty())
    throw Error(ErrorKind::usage, "node set '" + printable(node_set) +
                                      "' excludes every node of cluster " + cluster.name.value);
  return chosen;
}

}  // namespace fastgpu::cli
