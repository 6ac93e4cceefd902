#include "provision/cluster_spec.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/host_names.hpp"

namespace fastgpu::provision {
namespace {

void check_range(const char* what, int value, int most) {
  if (value >= 1 && value <= most) return;
  throw Error(ErrorKind::usage, std::string(what) + " must be 1 to " + std::to_string(most) +
                                    ", not " + std::to_string(value));
}

/// Returns true for names that useradd accepts and that are safe in files on the nodes.
bool is_user_name(const std::string& user) {
  constexpr std::size_t kLongest = 32;
  const auto usable = [](char c) {
    return is_ascii_letter_or_digit(c) || c == '_' || c == '-' || c == '.';
  };
  return !user.empty() && user.size() <= kLongest && user.front() != '-' &&
         std::ranges::all_of(user, usable);
}

}  // namespace

void check_node_count(int nodes) {
  check_range("the number of nodes", nodes, kMostNodes);
}

void check_spec(const ClusterSpec& spec) {
  check_dotted_name("cluster name", spec.name.value);
  check_node_count(spec.nodes);
  check_range("the least number of nodes", spec.least_nodes(), spec.nodes);
  check_range("the number of slots on a node", spec.slots, kMostSlots);
  if (!is_user_name(spec.user))
    throw Error(ErrorKind::usage, "user '" + printable(spec.user) + "' is not a user name");
}

}  // namespace fastgpu::provision
