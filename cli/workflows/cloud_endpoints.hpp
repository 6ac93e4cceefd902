// The variables that name where a cloud is reached, in place of its usual address.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace fastgpu::cli {

/// The services of clouds that may have an address of their own.
inline constexpr std::array kEndpointServices = {"ecs", "vpc", "ims", "iam",
                                                 "bss", "cvm", "tag", "sts"};

/// Returns "FASTGPU_HUAWEI_ENDPOINT_VPC" for "FASTGPU_HUAWEI_ENDPOINT" and "vpc".
std::string endpoint_variable(const std::string& key, std::string service);

/// Returns the variables of every cloud and service.
std::vector<std::string> endpoint_variables();

}  // namespace fastgpu::cli
