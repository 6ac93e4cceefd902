// An image of a machine, made once however often it is asked for.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "provision/cloud/cloud.hpp"
#include "provision/cloud/cloud_provider.hpp"

namespace fastgpu::provision::cloud {

/// ImageMarks::made_of for all that tells whether another image would be the same.
std::string digest_of(std::span<const std::string> parts);

/// The image that is made of the same, available or on its way; absent where there is none.
std::optional<OwnImage> find_image(Cloud& cloud, const std::string& region,
                                   const std::string& made_of, const Cancel& cancel);

/// Whether an earlier run may have asked for the image already.
enum class Asked : std::uint8_t { never, perhaps };

/// Asks for the image where none is made of the same, and returns once it is available. Those of
/// the same that have failed are removed. Killed or cancelled anywhere, the same call again goes
/// on. Throws conflict where another image has the name, remote where the cloud could not make it,
/// interrupted after a cancel: then the cloud goes on making it.
OwnImage make_image(Cloud& cloud, const ImageWish& wish, Asked asked, const Wait& wait,
                    const Cancel& cancel);

}  // namespace fastgpu::provision::cloud
