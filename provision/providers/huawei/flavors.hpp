// Machine types as Huawei Cloud describes them. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "provision/cloud/answer.hpp"
#include "provision/cloud/model.hpp"

namespace fastgpu::provision::huawei {

/// What the answer tells; what it leaves out of a type that we know comes from the catalogue.
cloud::InstanceType type_of(const cloud::Answer& flavor);

/// "NVIDIA Tesla V100-32G", "nvidia-v100" as "V100"; "Ascend 310" as "Ascend310".
std::string gpu_name(std::string_view text);

/// The zones that a flavor's own conditions name.
std::vector<std::string> named_zones(const cloud::Answer& flavor);

/// Whether it is sold in a zone; absent where it is not on sale there at all.
std::optional<cloud::Stock> stock_of(const cloud::Answer& flavor, const std::string& zone,
                                     cloud::Market market);

}  // namespace fastgpu::provision::huawei
