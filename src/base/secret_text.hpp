// Secrets in variables and in what programs write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu {

/// Returns true if the value of an environment variable with this name may be a secret:
/// WANDB_API_KEY, HF_TOKEN, DB_PASSWORD. Pure.
bool sounds_secret(std::string_view name);

/// Returns the text with "***" for each of `secrets`, and for each of their lines. Secrets of less
/// than four bytes are ignored, since they may be part of any word. Pure.
std::string without_secrets(std::string text, const std::vector<std::string>& secrets);

}  // namespace fastgpu
