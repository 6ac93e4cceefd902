// Checks of the names of GPUs, types, zones and regions in the user's input. They distinguish names
// that do not exist from offers that are not available.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::cloud {

/// Checks the name of a region, a zone or a type of machine: 1 to 64 letters, digits and "-_.".
/// Throws ErrorKind::usage with `flag` and the value met.
void check_identifier(std::string_view flag, std::string_view text);

/// Checks a name that a user gave to a resource in the cloud: 1 to 255 bytes, no control
/// characters. Throws ErrorKind::usage with `flag` and the value met.
void check_title(std::string_view flag, std::string_view text);

/// Throws not_found, with the nearest known name, if neither the catalogue nor any machine that the
/// clouds offer has such a GPU.
void check_gpu(std::span<Cloud* const> clouds, const std::string& region,
               const MachineRequest& request, const Cancel& cancel);

/// Returns those of `clouds` that have the region; all of them for "" and "all". A cloud that does
/// not list its regions counts as having it. Throws not_found, with the nearest known name, if no
/// cloud has it.
std::vector<Cloud*> clouds_with_region(std::span<Cloud* const> clouds, const std::string& region,
                                       const Cancel& cancel);

/// Throws usage if the type that the request names has other GPUs than the request.
void check_gpus_of_type(std::span<const Offer> offers, const MachineRequest& request);

/// Throws not_found, with the nearest known name, if a wrong name is the reason why `clouds` have
/// no offer: a zone that none of them has, or an unknown type or GPU.
void check_names(std::span<Cloud* const> clouds, const std::string& region,
                 const MachineRequest& request, const Cancel& cancel);

}  // namespace fastgpu::provision::cloud
