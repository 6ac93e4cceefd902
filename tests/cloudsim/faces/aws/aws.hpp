// AWS: EC2 and sts in the query protocol, ssm, servicequotas and pricing in JSON.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "cloudsim/face.hpp"

namespace fastgpu::cloudsim {

/// Where `api_facts` names a folder with aws.json, every request is checked against it too.
std::unique_ptr<Face> aws_face(const std::optional<std::filesystem::path>& api_facts);

}  // namespace fastgpu::cloudsim
