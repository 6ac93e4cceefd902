#include "comm/gossip/topology_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/names.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::string_view kBlank = " \t\r";

/// One line of a file: an edge, an arc, or the beginning of the next graph.
struct TopologyLine {
  int from = 0;
  int to = 0;
  bool is_both_ways = false;
};

class GraphParser {
 public:
  void line(std::string_view text) {
    ++number_;
    text = trimmed(text.substr(0, text.find('#')));
    if (text.empty()) return;
    if (text == "step") {
      if (lines_.empty() || lines_.back().empty())
        refuse("'step' without a line like '0 - 1' before it");
      if (lines_.size() == kMostGraphs)
        refuse("more than " + std::to_string(kMostGraphs) + " graphs");
      lines_.emplace_back();
      return;
    }
    if (lines_.empty()) lines_.emplace_back();
    lines_.back().push_back(arc(text));
  }

  std::vector<GossipGraph> graphs() const {
    if (lines_.empty()) throw Error(ErrorKind::usage, "it has no line like '0 - 1'");
    if (lines_.back().empty()) refuse("'step' without a line like '0 - 1' after it");
    std::vector<GossipGraph> graphs;
    for (const auto& lines : lines_) {
      GossipGraph graph = empty_graph(members_);
      for (const TopologyLine& each : lines) {
        add_arc(graph, each.from, each.to);
        if (each.is_both_ways) add_arc(graph, each.to, each.from);
      }
      graphs.push_back(std::move(graph));
    }
    return graphs;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::usage, "line " + std::to_string(number_) + ": " + what);
  }

  static std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
  }

  int member(std::string_view text, std::string_view line) {
    text = trimmed(text);
    int value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc() || stop != end || value < 0 || value >= kMostMembers)
      refuse("'" + printable(line) +
             "' is not '0 - 1', '0 -> 1' or 'step', with members from 0 to " +
             std::to_string(kMostMembers - 1));
    members_ = std::max(members_, value + 1);
    return value;
  }

  TopologyLine arc(std::string_view text) {
    const std::size_t dash = text.find('-');
    const bool is_arrow = dash != std::string_view::npos && text.substr(dash).starts_with("->");
    const std::string_view rest =
        dash == std::string_view::npos ? "" : text.substr(dash + (is_arrow ? 2 : 1));
    const TopologyLine found{member(text.substr(0, dash), text), member(rest, text), !is_arrow};
    if (found.from == found.to) refuse("'" + printable(text) + "' joins a member with itself");
    return found;
  }

  std::size_t number_ = 0;
  int members_ = 0;
  std::vector<std::vector<TopologyLine>> lines_;
};

}  // namespace

std::vector<GossipGraph> parse_graphs(std::string_view text) {
  if (text.size() > kMostTopologyBytes)
    throw Error(ErrorKind::usage,
                "more than " + std::to_string(kMostTopologyBytes >> 20U) + " MiB of text");
  GraphParser parser;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    parser.line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parser.graphs();
}

std::vector<GossipGraph> load_graphs(const std::string& path) try {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) throw Error(ErrorKind::usage, std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw Error(ErrorKind::usage, "not a regular file");
  if (static_cast<std::size_t>(status.st_size) > kMostTopologyBytes)
    throw Error(ErrorKind::usage,
                "more than " + std::to_string(kMostTopologyBytes >> 20U) + " MiB");
  return parse_graphs(read_to_end(file.get(), "reading", kMostTopologyBytes));
} catch (const Error& e) {
  throw Error(ErrorKind::usage, printable(path, 200) + ": " + e.what());
}

}  // namespace fastgpu::comm
