#include "comm/rendezvous/meeting_points.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/common/interrupt.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// Gives link-local addresses the zone of FASTGPU_COMM_INTERFACE. Throws usage if that variable is
/// not set, or names another interface than the address.
void complete_zones(const JobPlace& place, std::vector<Endpoint>& points) {
  const std::string who = "rank " + std::to_string(place.rank.value) +
                          ": the address of rank 0, '" + printable(place.master_host) + "', ";
  for (Endpoint& point : points) {
    if (!point.is_link_local()) continue;
    const bool has_interface = !place.interface.empty();
    if (point.zone == 0 && !has_interface)
      throw Error(ErrorKind::usage, who +
                                        "is known on one link alone: name the interface with it "
                                        "(fe80::1%eth0), or in FASTGPU_COMM_INTERFACE");
    if (!has_interface) continue;
    const std::uint32_t zone = number_of_interface(place.interface);
    if (point.zone != 0 && point.zone != zone)
      throw Error(ErrorKind::usage, who + "is one of " + name_of_interface(point.zone) +
                                        ", but FASTGPU_COMM_INTERFACE names '" +
                                        printable(place.interface) + "': name the same interface");
    point.zone = zone;
  }
}

}  // namespace

bool has_secret(const JobPlace& place) {
  return !place.secret.reveal().empty();
}

std::vector<Endpoint> meeting_points(const JobPlace& place) {
  if (!place.points.empty()) return place.points;
  std::vector<Endpoint> points = resolve(place.master_host, place.master_port);
  complete_zones(place, points);
  if (has_secret(place)) return points;
  std::erase_if(points, [](const Endpoint& point) { return !point.is_loopback(); });
  if (points.empty())
    throw Error(ErrorKind::usage, "rank " + std::to_string(place.rank.value) +
                                      ": FASTGPU_COMM_SECRET is not set, and '" +
                                      printable(place.master_host) +
                                      "' is no loopback address: give all ranks the same secret");
  return points;
}

std::vector<Endpoint> await_name(const std::function<std::vector<Endpoint>()>& find,
                                 Deadline deadline) {
  for (auto pause = 50ms;; pause = std::min<std::chrono::milliseconds>(2 * pause, 1s)) {
    try {
      return find();
    } catch (const Error& e) {
      const bool may_come = e.kind() == ErrorKind::not_found || e.kind() == ErrorKind::local;
      if (!may_come || deadline.passed()) throw;
    }
    poll_until({}, within(deadline, pause));
  }
}

Endpoint listening_address(const JobPlace& place, const Endpoint& nearby, std::uint16_t port) {
  Endpoint address = nearby;
  if (!place.interface.empty())
    address = address_of_interface(place.interface, nearby);
  else if (has_secret(place))
    address = any_address(nearby.family);
  address.port = port;
  return address;
}

std::optional<Endpoint> source_address(const JobPlace& place, const Endpoint& to) {
  if (place.interface.empty()) return std::nullopt;
  return address_of_interface(place.interface, to);
}

void check_interface(const JobPlace& place, const std::vector<Endpoint>& points,
                     const Endpoint& listens_at) {
  if (place.interface.empty()) return;
  std::vector<Endpoint> of_machine;
  for (const LocalAddress& each : all_addresses_of_machine())
    of_machine.push_back(each.address);
  const auto is_at = [](const std::vector<Endpoint>& all, const Endpoint& one) {
    return std::ranges::any_of(all, [&](const Endpoint& each) {
      return each.family == one.family && each.address == one.address;
    });
  };
  const auto leads_elsewhere = [&](const Endpoint& point) {
    return !point.is_loopback() && is_at(of_machine, point);
  };
  if (is_at(points, listens_at) || !std::ranges::all_of(points, leads_elsewhere)) return;
  throw Error(ErrorKind::usage,
              "rank 0: FASTGPU_COMM_INTERFACE names '" + printable(place.interface) +
                  "', so it listens at " + to_string(listens_at) + ", but the ranks meet at '" +
                  printable(place.master_host) + "', which is " + to_string(points.front()) +
                  ": give the address of the interface to all ranks");
}

}  // namespace fastgpu::comm
