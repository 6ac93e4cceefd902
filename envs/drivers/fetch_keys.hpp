// The keys of NVIDIA's repositories, fetched to where we run.
#pragma once

#include <span>

#include "envs/drivers/recipe.hpp"
#include "http/client.hpp"

namespace fastgpu::envs {

/// The repository's key, fetched from beside the packages for the first node's system and checked
/// against its fingerprint. Errors as http::Client::send; remote for another answer than the key,
/// denied for one that is not the trusted one.
void fetch_keys(Recipe& recipe, std::span<const NodeFacts> facts, http::Client& client,
                const Cancel& cancel);

}  // namespace fastgpu::envs
