#include "provision/providers/local/cluster_network.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/unique_fd.hpp"
#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/links.hpp"

namespace fastgpu::provision::local {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Locks the choice of addresses: one at a time in this network namespace, for all root folders.
/// The kernel frees the name of an abstract socket when its process dies.
UniqueFd lock_choice() {
  using namespace std::string_view_literals;
  constexpr auto kName = "\0fastgpu-address-choice"sv;
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) throw system_error("making a socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, kName.data(), kName.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + kName.size());
  for (int tries = 0; tries < 1'000; ++tries) {
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return socket;
    if (errno != EADDRINUSE) throw system_error("locking the choice of addresses", errno);
    std::this_thread::sleep_for(10ms);
  }
  throw Error(ErrorKind::transient,
              "another fastgpu has been choosing addresses for 10 s: try again");
}

std::vector<AddressRange> ranges_of_others(const LocalNetworkRequest& request) {
  std::vector<AddressRange> ranges;
  for (const std::string& id : folders_in(request.storage)) {
    if (id == request.cluster_id) continue;
    if (const auto other = read_cluster(request.storage / id))
      ranges.push_back(other->subnet.range());
  }
  return ranges;
}

bool is_free(const std::vector<AddressRange>& used, Subnet subnet) {
  return std::ranges::none_of(
      used, [&](const AddressRange& range) { return range.meets(subnet.range()); });
}

LocalClusterRecord choose_record(const LocalNetworkRequest& request,
                                 std::vector<AddressRange> used) {
  const std::vector<AddressRange> others = ranges_of_others(request);
  used.insert(used.end(), others.begin(), others.end());
  LocalClusterRecord record{request.cluster_id, request.cluster_name, choose_subnet(used)};
  make_private_folder(request.storage / request.cluster_id);
  write_cluster(request.storage / request.cluster_id, record);
  return record;
}

Error taken_by_others(const LocalClusterRecord& record) {
  return {ErrorKind::conflict, "the addresses " + to_string(record.subnet) + " of cluster '" +
                                   record.name +
                                   "' have been taken by another network of this machine: remove "
                                   "that one, or delete the cluster and create it again"};
}

}  // namespace

std::string bridge_mark(const std::string& root_id, const fs::path& root) {
  constexpr std::size_t kLongest = 254;  // The kernel takes an alias of 255 bytes with its NUL.
  return ("fastgpu " + root_id + " " + root.string()).substr(0, kLongest);
}

ClusterNetwork ensure_network(const LocalNetworkRequest& request) {
  const UniqueFd lock = lock_choice();
  NetlinkSocket socket;
  const std::string name = bridge_name(request.cluster_id);
  auto record = read_cluster(request.storage / request.cluster_id);
  auto link = find_link(socket, name);
  if (link && link->alias != request.mark)
    throw Error(ErrorKind::conflict, "the network link " + name + " belongs to another program ('" +
                                         printable(link->alias) + "')");
  if (!link) {
    const std::vector<AddressRange> used = used_ranges(socket);
    const bool usable = record && is_free(used, record->subnet);
    if (record && !usable && !record->nodes.empty()) throw taken_by_others(*record);
    if (!usable) record = choose_record(request, used);
    make_bridge(socket, name, request.mark, mac_of(record->subnet.bridge()));
    link = find_link(socket, name);
  }
  if (!link || !record)
    throw Error(ErrorKind::local, "the network link " + name +
                                      " has no cluster on record: run "
                                      "'fastgpu gc'");
  bring_up(socket, link->index, record->subnet.bridge());
  return {*record, link->index};
}

void delete_bridge(const std::string& cluster_id, const std::string& mark) {
  NetlinkSocket socket;
  const auto link = find_link(socket, bridge_name(cluster_id));
  if (link && link->alias == mark) delete_links(socket, std::vector{link->name});
}

}  // namespace fastgpu::provision::local
