// The variables that replace the usual address (endpoint) of a cloud.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace fastgpu::cli {

/// The services of clouds whose addresses can be replaced one by one.
inline constexpr std::array kEndpointServices = {"ecs", "vpc", "ims", "iam",
                                                 "bss", "cvm", "tag", "sts"};

/// Returns "FASTGPU_HUAWEI_ENDPOINT_VPC" for "FASTGPU_HUAWEI_ENDPOINT" and "vpc".
std::string endpoint_variable(const std::string& key, std::string service);

/// Returns the variables of all clouds and services.
std::vector<std::string> endpoint_variables();

}  // namespace fastgpu::cli
