// Keys that AWS gives to its containers and instances.
#pragma once

#include "provision/credentials/search.hpp"

namespace fastgpu::provision::credentials {

/// Returns keys from the address in the container's variables; absent if these are not set.
std::optional<Credentials> aws_container_keys(const Search& search);

/// Returns keys of the instance's role; absent outside EC2 and without a role.
std::optional<Credentials> aws_instance_keys(const Search& search);

}  // namespace fastgpu::provision::credentials
