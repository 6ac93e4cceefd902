// An image of a machine, made once for any number of requests.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "provision/cloud/cloud.hpp"
#include "provision/cloud/cloud_provider.hpp"

namespace fastgpu::provision::cloud {

/// Returns ImageMarks::made_of for all parts that decide whether another image would be the same.
std::string digest_of(std::span<const std::string> parts);

/// Returns the image that is made of the same, available or pending; absent without one.
std::optional<OwnImage> find_image(Cloud& cloud, const std::string& region,
                                   const std::string& made_of, const Cancel& cancel);

/// The possibility that an earlier run has requested the image already.
enum class Asked : std::uint8_t { never, perhaps };

/// Requests the image unless one is made of the same, and returns once it is available. Failed ones
/// of the same are removed. If it is killed or cancelled at any time, the same call again goes on.
/// Throws conflict if another image has the name, remote if the cloud could not make it,
/// interrupted after a cancel. The cloud goes on making it then.
OwnImage make_image(Cloud& cloud, const ImageWish& wish, Asked asked, const Wait& wait,
                    const Cancel& cancel);

}  // namespace fastgpu::provision::cloud
