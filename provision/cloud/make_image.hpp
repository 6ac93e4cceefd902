// An image of a machine, made once for any number of requests.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "provision/cloud/cloud.hpp"
#include "provision/polling.hpp"

namespace fastgpu::provision::cloud {

/// Returns ImageMarks::made_of, the digest of all parts that decide whether another image would be
/// the same.
std::string digest_of(std::span<const std::string> parts);

/// Returns the image made of the same parts, available or pending; absent without one.
std::optional<OwnImage> find_image(Cloud& cloud, const std::string& region,
                                   const std::string& made_of, const Cancel& cancel);

/// The knowledge whether an earlier run may have requested the image already.
enum class Asked : std::uint8_t { never, perhaps };

/// The time within which a cloud makes an image of a large disk.
constexpr std::chrono::milliseconds kImageTimeout = std::chrono::hours(2);

/// Requests the image unless one is made of the same parts, and returns once it is available.
/// Removes failed images of the same parts. After a kill or a cancel at any time, the same call
/// resumes. Throws conflict if another image has the name, remote if the cloud could not make it,
/// timeout if it is not available in time, and interrupted after a cancel; the cloud continues to
/// make it after these two.
OwnImage make_image(Cloud& cloud, const ImageRequest& request, Asked asked, const Wait& wait,
                    const Cancel& cancel, std::chrono::milliseconds timeout = kImageTimeout);

}  // namespace fastgpu::provision::cloud
