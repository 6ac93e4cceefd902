#include "provision/cloud/named_parts.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/contains.hpp"
#include "base/join.hpp"
#include "base/parallel.hpp"

namespace fastgpu::provision::cloud {
namespace {

constexpr std::size_t kQuestionsAtOnce = 8;

/// A part that a place lacks.
struct Lack {
  std::string part;  ///< "image 'golden'"
  Error error;       ///< The cloud's answer.
};

/// Returns the lack if `look` throws not_found. Another failure is no answer to the question.
template <class Look>
std::optional<Lack> lack_of(const std::string& part, Look look) try {
  look();
  return std::nullopt;
} catch (const Error& e) {
  if (e.kind() != ErrorKind::not_found) return std::nullopt;
  return Lack{part, e};
}

std::optional<Lack> lack_at(Cloud& cloud, const Offer& offer, const state::CloudSpec& spec,
                            const Cancel& cancel) {
  const std::string& region = offer.site.region;
  if (!spec.image.empty()) {
    auto lack = lack_of("image '" + spec.image + "'", [&] {
      if (cloud.images(region, spec.image, offer.type.name, cancel).empty())
        throw Error(ErrorKind::not_found, std::string(cloud.name()) + ": there is no image '" +
                                              spec.image + "' in " + region);
    });
    if (lack) return lack;
  }
  for (const std::string& key_pair : spec.key_pairs)
    if (auto lack = lack_of("key pair '" + key_pair + "'",
                            [&] { cloud.public_key(region, key_pair, cancel); }))
      return lack;
  if (spec.vpc.empty()) return std::nullopt;
  return lack_of("network '" + spec.vpc + "'",
                 [&] { cloud.check_network(offer.site, spec.vpc, cancel); });
}

/// The place that one question is about. Images and key pairs belong to a region, networks have
/// subnets in zones.
using PlaceKey = std::tuple<std::string, std::string, std::string>;

PlaceKey key_of(const Offer& offer, const state::CloudSpec& spec) {
  return {offer.cloud, offer.site.region, spec.vpc.empty() ? "" : offer.site.zone};
}

/// Returns the first region's failure, with the other regions.
Error missing_everywhere(const Error& first, std::span<const std::string> regions) {
  if (regions.size() < 2) return first;
  return {first.kind(), std::string(first.what()) + "; the same in " + joined(regions.subspan(1))};
}

}  // namespace

RankedOffers with_named_parts(RankedOffers ranked, std::span<Cloud* const> clouds,
                              const state::CloudSpec& spec, const Cancel& cancel) {
  if (spec.image.empty() && spec.key_pairs.empty() && spec.vpc.empty()) return ranked;
  std::vector<const Offer*> asked;
  std::map<PlaceKey, std::size_t> places;
  for (const Offer& offer : ranked.usable)
    if (places.emplace(key_of(offer, spec), asked.size()).second) asked.push_back(&offer);
  const auto answers =
      parallel_map(std::span<const Offer* const>(asked), kQuestionsAtOnce, [&](const Offer* offer) {
        const auto cloud = std::ranges::find(clouds, offer->cloud, &Cloud::name);
        return cloud == clouds.end() ? std::nullopt : lack_at(**cloud, *offer, spec, cancel);
      });
  cancel.check();
  throw_first(answers);
  std::vector<Offer> kept;
  std::optional<Error> missing;
  std::vector<std::string> lacking;  // The regions that lack a part, in the order of their offers.
  for (Offer& offer : ranked.usable) {
    const std::optional<Lack>& lack = answers[places.at(key_of(offer, spec))].value();
    if (lack && !missing) missing = lack->error;
    if (lack && !contains(lacking, offer.site.region)) lacking.push_back(offer.site.region);
    if (lack)
      ranked.unusable.emplace_back(std::move(offer), "without " + lack->part);
    else
      kept.push_back(std::move(offer));
  }
  ranked.usable = std::move(kept);
  if (ranked.usable.empty() && missing) throw missing_everywhere(*missing, lacking);
  return ranked;
}

}  // namespace fastgpu::provision::cloud
