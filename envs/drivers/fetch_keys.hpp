// The keys of NVIDIA's repositories, fetched to this machine.
#pragma once

#include <span>

#include "envs/drivers/recipe.hpp"
#include "http/client.hpp"

namespace fastgpu::envs {

/// Fetches the repository's key from beside the packages for the first node's system, and checks
/// its fingerprint. Errors as http::Client::send; remote for another answer than a key, denied for
/// one that is not the trusted one.
void fetch_keys(Recipe& recipe, std::span<const NodeFacts> facts, http::Client& client,
                const Cancel& cancel);

}  // namespace fastgpu::envs
