#include "provision/cloud/known_names.hpp"

#include <algorithm>
#include <set>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "provision/cloud/catalogue.hpp"
#include "provision/cloud/survey.hpp"

namespace fastgpu::provision::cloud {
namespace {

bool is_identifier(char c) {
  const bool is_letter = is_ascii_letter(c);
  return is_letter || is_ascii_digit(c) || c == '-' || c == '_' || c == '.';
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

/// Returns the name that the user may have meant: the same in other letters, or else the nearest.
std::string nearest_of(const std::string& word, const std::set<std::string>& known) {
  for (const std::string& name : known)
    if (ascii_lower(name) == ascii_lower(word)) return name;
  return nearest_name(word, std::vector<std::string>(known.begin(), known.end()));
}

[[noreturn]] void refuse(const std::string& what, const std::string& word,
                         const std::set<std::string>& known, const std::string& otherwise) {
  const std::string near = nearest_of(word, known);
  throw Error(ErrorKind::not_found,
              what + " '" + printable(word) + "'" +
                  (near.empty() ? otherwise : ", did you mean " + near + "?"));
}

/// Returns "aws", "aws and huawei".
std::string names_of(std::span<Cloud* const> clouds) {
  std::string names;
  for (const Cloud* cloud : clouds)
    append_item(names, cloud->name(), " and ");
  return names;
}

bool is_usual(const Cloud& cloud, const std::string& region) {
  const auto usual = usual_regions(cloud.name());
  return contains(usual, region);
}

/// Adds the cloud's regions to `known`. Returns true if it has this one, or cannot list its
/// regions.
bool has_region(Cloud& cloud, const std::string& region, std::set<std::string>& known,
                const Cancel& cancel) {
  if (is_usual(cloud, region)) return true;
  try {
    const auto regions = cloud.regions(cancel);
    known.insert(regions.begin(), regions.end());
    return contains(regions, region);
  } catch (const Error&) {
    cancel.check();
    return true;
  }
}

void check_zone(std::span<Cloud* const> clouds, const std::string& region,
                const MachineRequest& request, const Cancel& cancel) {
  MachineRequest anywhere = request;
  anywhere.zone.clear();
  std::set<std::string> zones;
  for (const Offer& offer : survey(clouds, region, anywhere, cancel).offers)
    zones.insert(offer.site.zone);
  if (!zones.empty() && !zones.contains(request.zone))
    refuse(names_of(clouds) + (clouds.size() == 1 ? " has" : " have") +
               " such machines, but not in zone",
           request.zone, zones, ": they are in " + *zones.begin() + " and others");
}

void check_type(std::span<Cloud* const> clouds, const MachineRequest& request) {
  std::set<std::string> types;
  for (const CatalogueRow& row : catalogue())
    for (const Cloud* cloud : clouds)
      if (row.cloud == cloud->name()) types.emplace(row.type);
  if (!types.contains(request.type))
    refuse(names_of(clouds) + (clouds.size() == 1 ? " offers" : " offer") + " no type",
           request.type, types, " there; `fastgpu get instance-types` lists those with GPUs");
}

}  // namespace

void check_identifier(std::string_view flag, std::string_view text) {
  if (text.size() <= 64 && !text.empty() && std::ranges::all_of(text, is_identifier)) return;
  throw Error(ErrorKind::usage, std::string(flag) + " '" + printable(text) +
                                    "' is not a valid name: use 1 to 64 letters, digits and '-_.'");
}

void check_title(std::string_view flag, std::string_view text) {
  if (text.size() <= 255 && !text.empty() && std::ranges::none_of(text, is_control)) return;
  throw Error(
      ErrorKind::usage,
      std::string(flag) + " '" + printable(text) +
          "' is not a valid name: it is empty, longer than 255 bytes, or has control characters");
}

void check_gpu(std::span<Cloud* const> clouds, const std::string& region,
               const MachineRequest& request, const Cancel& cancel) {
  if (request.gpu.empty() || !request.type.empty()) return;
  std::set<std::string> gpus;
  for (const CatalogueRow& row : catalogue()) {
    if (same_gpu(row.gpu, request.gpu)) return;
    gpus.emplace(row.gpu);
  }
  for (const Offer& offer :
       survey(clouds, region, {.gpus = 1, .market = request.market}, cancel).offers) {
    if (offer.type.gpu.empty()) continue;
    if (same_gpu(offer.type.gpu, request.gpu)) return;
    gpus.insert(offer.type.gpu);
  }
  std::string all;
  for (const std::string& gpu : gpus)
    all += (all.empty() ? ": there are " : ", ") + gpu;
  refuse("--gpus: " + names_of(clouds) + (clouds.size() == 1 ? " has" : " have") + " no GPU",
         request.gpu, gpus, all + "; --instance-type TYPE accepts any type of machine");
}

std::vector<Cloud*> clouds_with_region(std::span<Cloud* const> clouds, const std::string& region,
                                       const Cancel& cancel) {
  std::vector<Cloud*> found(clouds.begin(), clouds.end());
  if (region.empty() || region == kAllRegions) return found;
  std::set<std::string> known;
  for (const Cloud* cloud : clouds)
    for (const std::string_view usual : usual_regions(cloud->name()))
      known.emplace(usual);
  std::erase_if(found, [&](Cloud* cloud) { return !has_region(*cloud, region, known, cancel); });
  if (found.empty())
    refuse(names_of(clouds) + (clouds.size() == 1 ? " has" : " have") + " no region", region, known,
           "; --region all searches every region");
  return found;
}

void check_gpus_of_type(std::span<const Offer> offers, const MachineRequest& request) {
  if (request.type.empty() || request.gpu.empty()) return;
  const auto may_suit = [&](const Offer& offer) {
    return offer.type.gpu.empty() || suits(offer.type, {.gpu = request.gpu, .gpus = request.gpus});
  };
  if (offers.empty() || std::ranges::any_of(offers, may_suit)) return;
  const InstanceType& type = offers.front().type;
  throw Error(ErrorKind::usage, "--instance-type " + type.name + " has " +
                                    std::to_string(type.gpus) + " " + type.gpu +
                                    ", not the GPUs of --gpus: leave out one of the two");
}

void check_names(std::span<Cloud* const> clouds, const std::string& region,
                 const MachineRequest& request, const Cancel& cancel) {
  check_gpu(clouds, region, request, cancel);
  if (!request.type.empty()) check_type(clouds, request);
  if (!request.zone.empty()) check_zone(clouds, region, request, cancel);
}

}  // namespace fastgpu::provision::cloud
