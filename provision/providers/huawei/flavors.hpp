// Huawei Cloud's descriptions of machine types. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "provision/cloud/answer.hpp"
#include "provision/cloud/model.hpp"

namespace fastgpu::provision::huawei {

/// Returns the type in the answer; data that it lacks about a known type comes from the catalogue.
cloud::InstanceType type_of(const cloud::Answer& flavor);

/// Returns the model of a GPU: "V100" for "NVIDIA Tesla V100-32G" and "nvidia-v100", "Ascend310"
/// for "Ascend 310".
std::string gpu_name(std::string_view text);

/// Returns the zones that a flavor's own conditions name.
std::vector<std::string> named_zones(const cloud::Answer& flavor);

/// Returns a flavor's stock in a zone; absent if it is not sold there at all.
std::optional<cloud::Stock> stock_of(const cloud::Answer& flavor, const std::string& zone,
                                     cloud::Market market);

}  // namespace fastgpu::provision::huawei
