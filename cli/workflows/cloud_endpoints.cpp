#include "cli/workflows/cloud_endpoints.hpp"

namespace fastgpu::cli {

std::string endpoint_variable(const std::string& key, std::string service) {
  for (char& c : service)
    c = static_cast<char>(c - 'a' + 'A');
  return key + "_" + service;
}

std::vector<std::string> endpoint_variables() {
  std::vector<std::string> names;
  for (const char* key :
       {"FASTGPU_ALIBABA_ENDPOINT", "FASTGPU_HUAWEI_ENDPOINT", "FASTGPU_TENCENT_ENDPOINT"})
    for (const char* service : kEndpointServices)
      names.push_back(endpoint_variable(key, service));
  return names;
}

}  // namespace fastgpu::cli
