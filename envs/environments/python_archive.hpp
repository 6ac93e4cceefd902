// A Python that env.yaml names by its archive, as python-build-standalone makes them.
#pragma once

#include <filesystem>

#include "base/cancel.hpp"
#include "envs/environments/spec.hpp"
#include "http/client.hpp"

namespace fastgpu::envs {

/// The archive, in `directory`: kept from earlier, or fetched and checked. Throws as fetch_pinned.
std::filesystem::path fetch_python(const PythonArchive& archive,
                                   const std::filesystem::path& directory, http::Client& http,
                                   const Cancel& cancel);

}  // namespace fastgpu::envs
