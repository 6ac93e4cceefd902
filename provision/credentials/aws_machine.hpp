// Keys that AWS gives to what runs on it: containers and instances.
#pragma once

#include "provision/credentials/search.hpp"

namespace fastgpu::provision::credentials {

/// Where the container's variables say; absent where they say nothing.
std::optional<Credentials> aws_container_keys(const Search& search);

/// Of the instance's role; absent outside EC2 and without a role.
std::optional<Credentials> aws_instance_keys(const Search& search);

}  // namespace fastgpu::provision::credentials
