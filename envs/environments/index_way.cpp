#include "envs/environments/index_way.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "http/urls.hpp"

namespace fastgpu::envs {
namespace {

using namespace std::chrono_literals;

constexpr auto kCheckLimit = 5s;
constexpr std::size_t kMostPages = 4;
constexpr std::size_t kMostPlaces = 32;
constexpr std::size_t kLargestPage = 64UL << 20;

/// The other hosts on which indexes keep files, by the index's place.
constexpr std::array kKnown = {
    std::pair{"pypi.org:443", "files.pythonhosted.org:443"},
    std::pair{"download.pytorch.org:443", "download-r2.pytorch.org:443"},
    std::pair{"conda.anaconda.org:443", "binstar-cio-packages-prod.s3.amazonaws.com:443"}};

void add_once(std::vector<std::string>& list, std::string text) {
  if (!contains(list, text)) list.push_back(std::move(text));
}

std::vector<std::string> places_of(std::span<const std::string> addresses) {
  std::vector<std::string> places;
  for (const std::string& address : addresses)
    add_once(places, place_of(address));
  return places;
}

http::Destination destination_of(const std::string& place, http::Addresses addresses) {
  const auto colon = place.rfind(':');
  std::string host = place.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return {.host = host,
          .port = static_cast<std::uint16_t>(std::stoi(place.substr(colon + 1))),
          .addresses = addresses};
}

/// The reason why one side does not reach a place.
struct Obstacle {
  std::string place;
  std::string why;
};

/// Returns the first obstacle; absent if the node reaches all places.
std::optional<Obstacle> obstacle_on_node(const NodeAccess& access, const ssh::Host& host,
                                         const std::vector<std::string>& places,
                                         const OnDoing& on_doing) {
  NodeCall call{.words = {"env-reach"}};
  call.words.insert(call.words.end(), places.begin(), places.end());
  const auto answer = call_node(access, host, call, on_doing);
  if (!answer.all("proxied").empty()) return std::nullopt;  // Its proxy may reach more.
  const auto unreached = answer.all("unreached");
  if (unreached.empty()) return std::nullopt;
  const std::string& first = unreached.front();
  const auto blank = std::min(first.find(' '), first.size());
  return Obstacle{first.substr(0, blank), first.substr(std::min(blank + 1, first.size()))};
}

/// This machine's check of the places, and its results.
class Look {
 public:
  Look(const FetchPlan& plan, const Cancel& cancel) : plan_(plan), cancel_(cancel) {}

  std::optional<Obstacle> obstacle() {
    for (const std::string& place : places_of(plan_.indexes)) {
      try {
        const auto connected = http::connect_to(destination_of(place, http::Addresses::any),
                                                plan_.network, kCheckLimit, cancel_);
        // An index of the public Internet has no files within this network.
        found_[place] = connected.is_public ? http::Addresses::public_only : http::Addresses::any;
      } catch (const Error& e) {
        if (e.kind() == ErrorKind::interrupted) throw;
        return Obstacle{place, e.what()};
      }
    }
    return std::nullopt;
  }

  /// Returns all places that the tunnel may connect to. The pages read for this belong to the
  /// indexes.
  TunnelPlaces places() {
    TunnelPlaces places;
    for (const std::string& place : known_file_places(plan_.indexes))
      places.emplace(place, http::Addresses::public_only);
    http::CurlClient client(plan_.network);
    for (const std::string& index : plan_.indexes)
      read_pages(client, index, places);
    for (const auto& [place, addresses] : found_)
      places[place] = http::Addresses::any;
    for (const std::string& host : plan_.hosts)
      places[host.find(':') == std::string::npos ? host + ":443" : host] = http::Addresses::any;
    return places;
  }

 private:
  void read_pages(http::Client& client, const std::string& index, TunnelPlaces& places) {
    for (std::size_t i = 0; i < std::min(plan_.projects.size(), kMostPages); ++i) {
      const std::string page = index + (index.ends_with('/') ? "" : "/") + plan_.projects[i] + "/";
      for (const std::string& place : places_in_page(body_of(client, page)))
        if (places.size() < kMostPlaces) places.emplace(place, found_[place_of(index)]);
    }
  }

  /// Returns a page's body; empty if it is missing: the node's own program reports the reason.
  std::string body_of(http::Client& client, const std::string& page) try {
    http::Request request{.url = page, .largest_answer = kLargestPage};
    if (const auto login = plan_.logins.authorization(page))
      http::set_header(request.headers, "Authorization", login->reveal());
    auto answer = client.send(request, cancel_);
    return answer.status == 200 ? std::move(answer.body) : "";
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::interrupted) throw;
    return "";
  }

  const FetchPlan& plan_;
  const Cancel& cancel_;
  TunnelPlaces found_;
};

std::string index_at(const FetchPlan& plan, const std::string& place) {
  const auto found = std::ranges::find(plan.indexes, place, place_of);
  return found == plan.indexes.end() ? place : *found;
}

Error no_way(const FetchPlan& plan, const ssh::Host& host, const std::optional<Obstacle>& there,
             const Obstacle& here) {
  std::string text = host.name.value + ": ";
  if (there)
    text += "does not reach the package index " + index_at(plan, there->place) + " (" + there->why +
            "), and this machine does not reach " +
            (there->place == here.place ? "it" : index_at(plan, here.place)) + " either";
  else
    text += "this machine does not reach the package index " + index_at(plan, here.place);
  return {ErrorKind::remote, text + " (" + here.why +
                                 "): start it, set another 'index' or 'channels' in env.yaml, or "
                                 "copy a finished environment with fastgpu env unpack"};
}

}  // namespace

std::string place_of(const std::string& address) {
  const std::string root = ascii_lower(root_of(address));
  const auto begin = root.find("://") + 3;
  const std::string authority = root.substr(begin, root.size() - begin - 1);
  const bool has_port = http::host_of(authority).size() != authority.size();
  return has_port ? authority : authority + (root.starts_with("https:") ? ":443" : ":80");
}

std::vector<std::string> known_file_places(std::span<const std::string> indexes) {
  std::vector<std::string> places;
  for (const std::string& index : indexes)
    for (const auto& [place, files] : kKnown)
      if (place_of(index) == place) add_once(places, files);
  return places;
}

std::vector<std::string> places_in_page(std::string_view page) {
  std::vector<std::string> places;
  for (auto at = page.find("://"); at != page.npos; at = page.find("://", at + 3)) {
    std::size_t begin = at;
    while (begin > 0 && page[begin - 1] >= 'a' && page[begin - 1] <= 'z')
      --begin;
    const auto end = std::min(page.find_first_of("/?#\"'<> \t\r\n\\", at + 3), page.size());
    const std::string_view scheme = page.substr(begin, at - begin);
    const std::string_view authority = page.substr(at + 3, end - at - 3);
    const bool is_plain =
        !authority.empty() && authority.find_first_not_of(
                                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  ".-:") == authority.npos;
    const auto colon = authority.find(':');
    const auto port = colon == authority.npos ? "" : authority.substr(colon + 1);
    const bool has_good_port =
        colon == authority.npos ||
        (!port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos);
    if ((scheme != "https" && scheme != "http") || !is_plain || !has_good_port) continue;
    add_once(places, place_of(std::string(scheme) + "://" + std::string(authority) + "/"));
    if (places.size() == kMostPlaces) break;
  }
  return places;
}

IndexWay::IndexWay(const NodeAccess& access, const ssh::Host& host, const FetchPlan& plan,
                   const OnDoing& on_doing) {
  if (plan.fetch == Fetch::nodes || plan.indexes.empty()) return;
  std::optional<Obstacle> there;
  if (plan.fetch == Fetch::automatic) {
    there = obstacle_on_node(access, host, places_of(plan.indexes), on_doing);
    if (!there) return;
  }
  Look look(plan, access.cancel);
  if (const auto here = look.obstacle()) {
    const Error failure = no_way(plan, host, there, *here);
    if (!plan.may_need_none) throw Error(failure);
    objection_ = failure.what();
    return;
  }
  if (on_doing) on_doing(host.name, "fetching through this machine");
  tunnel_ = std::make_unique<IndexTunnel>(access, host, look.places(), plan.network);
}

Error IndexWay::explained(const Error& failure) const {
  if (!objection_.empty() && failure.kind() != ErrorKind::interrupted)
    return {failure.kind(), objection_ + "; " + failure.what()};
  const auto refused = tunnel_ ? tunnel_->refused() : std::vector<std::string>{};
  if (refused.empty()) return failure;
  return {failure.kind(),
          std::string(failure.what()) + "; this machine did not connect to " + joined(refused) +
              ", which is not an address of its indexes: " + "--fetch-host allows it"};
}

}  // namespace fastgpu::envs
