// Graphs that users write: "0 - 1" for two members that send to each other, "1 -> 2" for one way.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "comm/gossip/graph.hpp"

namespace fastgpu::comm {

constexpr std::size_t kMostTopologyBytes = std::size_t{1} << 20;
constexpr std::size_t kMostGraphs = 64;
constexpr int kMostMembers = 4096;

/// Returns the graphs of a text, which have equally many members: one more than the highest number.
/// A line "step" begins the next graph; '#' begins a comment. Throws ErrorKind::usage, with the
/// line, for anything else, and for too many bytes, members or graphs.
std::vector<GossipGraph> parse_graphs(std::string_view text);

/// Returns the graphs of a file. Throws ErrorKind::usage, with its path, as parse_graphs does, and
/// for one that cannot be read.
std::vector<GossipGraph> load_graphs(const std::string& path);

}  // namespace fastgpu::comm
