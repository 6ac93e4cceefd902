// Names of GPUs, types, zones and regions as users write them: those that do not exist are told
// from those that are not to be had.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::cloud {

/// Checks the name of a region, a zone or a type of machine: letters, digits and "-_." alone, at
/// most 64 of them. Throws ErrorKind::usage with `flag` and the value met.
void check_identifier(std::string_view flag, std::string_view text);

/// Checks a name that a user gave to a thing in the cloud: at most 255 bytes, no control
/// characters. Throws ErrorKind::usage with `flag` and the value met.
void check_title(std::string_view flag, std::string_view text);

/// Throws not_found, with the nearest name that there is, where no machine that the clouds offer
/// has such a GPU, and the catalogue knows of none.
void check_gpu(std::span<Cloud* const> clouds, const std::string& region, const Wish& wish,
               const Cancel& cancel);

/// Returns those of `clouds` that have the region; all of them for "" and "all". A cloud that does
/// not tell its regions counts as having it. Throws not_found, with the nearest name, where none
/// has.
std::vector<Cloud*> clouds_with_region(std::span<Cloud* const> clouds, const std::string& region,
                                       const Cancel& cancel);

/// Throws not_found, with the nearest name, where that `clouds` have no offer is because of a zone
/// that none of them has, or of a type that none is known to have.
void check_names(std::span<Cloud* const> clouds, const std::string& region, const Wish& wish,
                 const Cancel& cancel);

}  // namespace fastgpu::provision::cloud
