#include "launcher/gpu_order.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <utility>

namespace fastgpu::launcher {
namespace {

using agent::GpuLink;
using agent::MachineTopology;
using GpuSet = std::size_t;           ///< A bit for each GPU.
using Row = std::vector<int>;         ///< A value for each GPU.
using PairValues = std::vector<Row>;  ///< A value for each pair of GPUs.

/// The most GPUs whose orders are compared: each further one doubles the work, and 16 take 0.1 s.
constexpr std::size_t kMostOrdered = 16;

/// Returns the number of links between the GPUs, by their places in `offered`.
PairValues links_among(const MachineTopology& topology, std::span<const int> offered) {
  PairValues links(offered.size(), Row(offered.size(), 0));
  const auto place_of = [&](int gpu) {
    return static_cast<std::size_t>(std::ranges::find(offered, gpu) - offered.begin());
  };
  for (const GpuLink& link : topology.gpu_links) {
    const std::size_t a = place_of(link.first), b = place_of(link.second);
    if (a < offered.size() && b < offered.size()) links[a][b] = links[b][a] = link.count;
  }
  return links;
}

bool are_alike(const PairValues& links) {
  for (std::size_t i = 0; i < links.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (links[i][k] != links[1][0]) return false;
  return true;
}

/// Returns the worth of two GPUs as neighbours: being linked is worth more than all links of a
/// ring, and a link more than all changes of the NUMA node.
PairValues worth_of(const PairValues& links, const std::vector<int>& numas) {
  constexpr int kLink = static_cast<int>(kMostOrdered) + 1;
  constexpr int kLinked = static_cast<int>(kMostOrdered) * (agent::kMostGpuLinks + 1) * kLink;
  PairValues worth = links;
  for (std::size_t i = 0; i < links.size(); ++i)
    for (std::size_t k = 0; k < links.size(); ++k)
      worth[i][k] = (links[i][k] > 0 ? kLinked : 0) + links[i][k] * kLink -
                    static_cast<int>(numas[i] != numas[k]);
  return worth;
}

/// The rings of `count` GPUs that begin with one GPU and have only later ones besides. There is at
/// least one.
class RingsFrom {
 public:
  RingsFrom(const PairValues& worth, std::size_t first, std::size_t count)
      : worth_(worth),
        first_(first),
        count_(static_cast<int>(count)),
        gpus_(worth.size() - first),
        rest_(std::size_t{1} << gpus_, Row(gpus_)) {
    for (GpuSet others = rest_.size() / 2; others-- > 0;) {  // The ways on are found before.
      const GpuSet ring = 2 * others + 1;
      if (std::popcount(ring) > count_) continue;
      for (std::size_t last = 0; last < gpus_; ++last)
        if ((ring >> last & 1U) != 0) rest_[ring][last] = next(ring, last).worth;
    }
  }

  int worth() const { return rest_[1][0]; }

  /// Returns the first of the best rings.
  std::vector<std::size_t> best() const {
    std::vector<std::size_t> ring = {first_};
    GpuSet set = 1;
    for (std::size_t last = 0; std::popcount(set) < count_;) {
      last = next(set, last).gpu;
      set |= GpuSet{1} << last;
      ring.push_back(first_ + last);
    }
    return ring;
  }

 private:
  struct Next {
    std::size_t gpu = 0;  ///< Counted from the first one.
    int worth = 0;        ///< That of all pairs of neighbours from here on.
  };

  /// Returns the best GPU to follow `last` in a ring that has the GPUs `ring` so far, the earliest
  /// of several; the first one for a ring that is complete.
  Next next(GpuSet ring, std::size_t last) const {
    const Row& worth = worth_[first_ + last];
    if (std::popcount(ring) == count_) return {.gpu = 0, .worth = worth[first_]};
    Next best{.worth = std::numeric_limits<int>::min()};
    for (std::size_t gpu = 1; gpu < gpus_; ++gpu) {
      const GpuSet bit = GpuSet{1} << gpu;
      if ((ring & bit) != 0) continue;
      const int total = worth[first_ + gpu] + rest_[ring | bit][gpu];
      if (total > best.worth) best = {.gpu = gpu, .worth = total};
    }
    return best;
  }

  const PairValues& worth_;
  std::size_t first_;
  int count_;
  std::size_t gpus_;
  std::vector<Row> rest_;  ///< The worth of the best way on, by the GPUs so far and the last one.
};

/// Returns the best ring of `count` GPUs. Each ring is considered once in each direction, from its
/// first GPU on.
std::vector<std::size_t> best_ring(const PairValues& worth, std::size_t count) {
  std::vector<std::size_t> best;
  int most = std::numeric_limits<int>::min();
  for (std::size_t first = 0; first + count <= worth.size(); ++first) {
    const RingsFrom rings(worth, first, count);
    if (rings.worth() <= most) continue;
    most = rings.worth();
    best = rings.best();
  }
  return best;
}

/// Returns the worth of the best ring of each set of at most `count` GPUs.
std::vector<int> worth_of_rings(const PairValues& worth, std::size_t count) {
  constexpr int kNone = std::numeric_limits<int>::min();
  const std::size_t gpus = worth.size();
  std::vector<int> rings(GpuSet{1} << gpus, kNone);
  std::vector<int> ways(rings.size() * gpus, kNone);  // From the first GPU of a set to each other.
  for (std::size_t gpu = 0; gpu < gpus; ++gpu)
    ways[(GpuSet{1} << gpu) * gpus + gpu] = 0;
  for (GpuSet set = 1; set < rings.size(); ++set) {
    const auto size = static_cast<std::size_t>(std::popcount(set));
    const auto first = static_cast<std::size_t>(std::countr_zero(set));
    for (std::size_t last = first; size <= count && last < gpus; ++last) {
      const int way = ways[set * gpus + last];
      if (way == kNone) continue;
      rings[set] = std::max(rings[set], way + (size > 1 ? worth[last][first] : 0));
      for (std::size_t gpu = first + 1; gpu < gpus; ++gpu) {
        const GpuSet longer = set | GpuSet{1} << gpu;
        if (longer == set) continue;
        int& known = ways[longer * gpus + gpu];
        known = std::max(known, way + worth[last][gpu]);
      }
    }
  }
  return rings;
}

/// Returns the loss to the other GPUs if a set is taken from them: a link counts more than all GPUs
/// of one NUMA node.
int loss_by(GpuSet taken, const PairValues& links, const std::vector<int>& numas) {
  constexpr int kLink = static_cast<int>(kMostOrdered * kMostOrdered);
  int loss = 0;
  for (std::size_t i = 0; i < links.size(); ++i)
    for (std::size_t k = 0; k < links.size(); ++k)
      if ((taken >> i & 1U) != 0 && (taken >> k & 1U) == 0)
        loss += links[i][k] * kLink + static_cast<int>(numas[i] == numas[k]);
  return loss;
}

/// Returns true if the lowest GPU that only one of two sets has is in `a`.
bool is_earlier(GpuSet a, GpuSet b) {
  const GpuSet differing = a ^ b;
  return (a & differing & (~differing + 1)) != 0;
}

std::vector<int> numas_of(const MachineTopology& topology, std::span<const int> gpus) {
  std::vector<int> numas;
  for (const int gpu : gpus)
    numas.push_back(topology.gpus.at(static_cast<std::size_t>(gpu)).numa);
  return numas;
}

/// Returns the ring from the place on at which it is best cut: no neighbours are worth less than
/// its last and its first GPU. Of several such orders, the first.
std::vector<std::size_t> cut(std::vector<std::size_t> ring, const PairValues& worth) {
  const auto loss = [&] { return worth[ring.back()][ring.front()]; };
  const auto turn = [&] { std::rotate(ring.begin(), ring.begin() + 1, ring.end()); };
  int least = loss();
  for (std::size_t i = 0; i < ring.size(); ++i, turn())
    least = std::min(least, loss());
  std::vector<std::size_t> best;
  for (int direction = 0; direction < 2; ++direction, std::ranges::reverse(ring))
    for (std::size_t i = 0; i < ring.size(); ++i, turn())
      if (loss() == least && (best.empty() || ring < best)) best = ring;
  return best;
}

}  // namespace

std::vector<int> order_gpus(const MachineTopology& topology, std::span<const int> offered,
                            std::size_t count) {
  count = std::min(count, offered.size());
  const auto links = links_among(topology, offered);
  if (count < 2 || offered.size() > kMostOrdered || are_alike(links))
    return {offered.begin(), offered.begin() + static_cast<std::ptrdiff_t>(count)};
  const auto worth = worth_of(links, numas_of(topology, offered));
  std::vector<int> ordered;
  for (const std::size_t place : cut(best_ring(worth, count), worth))
    ordered.push_back(offered[place]);
  return ordered;
}

std::vector<int> choose_gpus(const MachineTopology& topology, std::span<const int> free,
                             std::size_t count) {
  count = std::min(count, free.size());
  if (count == 0 || count == free.size() || free.size() > kMostOrdered)
    return {free.begin(), free.begin() + static_cast<std::ptrdiff_t>(count)};
  const auto links = links_among(topology, free);
  const std::vector<int> numas = numas_of(topology, free);
  const std::vector<int> rings = worth_of_rings(worth_of(links, numas), count);
  GpuSet best = 0;
  int least = 0;  // The loss by the best set.
  for (GpuSet set = 1; set < rings.size(); ++set) {
    if (std::cmp_not_equal(std::popcount(set), count)) continue;
    if (best != 0 && rings[set] < rings[best]) continue;
    const int loss = loss_by(set, links, numas);
    const bool is_as_good = best != 0 && rings[set] == rings[best];
    if (is_as_good && (loss > least || (loss == least && !is_earlier(set, best)))) continue;
    best = set;
    least = loss;
  }
  std::vector<int> chosen;
  for (std::size_t i = 0; i < free.size(); ++i)
    if ((best >> i & 1U) != 0) chosen.push_back(free[i]);
  return chosen;
}

std::vector<LinkedPairs> linked_pairs(const MachineTopology& topology) {
  std::map<int, std::vector<const GpuLink*>, std::greater<>> by_count;
  for (const GpuLink& link : topology.gpu_links)
    by_count[link.count].push_back(&link);
  const std::size_t all = topology.gpus.size() * (topology.gpus.size() - 1) / 2;
  std::vector<LinkedPairs> groups;
  for (const auto& [count, links] : by_count) {
    LinkedPairs group{.links = count};
    for (const GpuLink* link : links)
      group.pairs.push_back(std::to_string(link->first) + "-" + std::to_string(link->second));
    if (links.size() == all && all > 1) group.pairs = {"all GPUs"};
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace fastgpu::launcher
