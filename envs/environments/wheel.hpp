// One file out of a wheel, which is a zip archive (zlib behind it).
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::envs {

/// The content of the file `name` in the archive `bytes`. Throws ErrorKind::remote where there is
/// none, or the archive cannot be read.
std::string file_in_wheel(std::string_view bytes, std::string_view name);

}  // namespace fastgpu::envs
