// One file out of a wheel, which is a zip archive (zlib behind it).
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::envs {

/// Returns the content of the file `name` in the archive `bytes`. Throws ErrorKind::remote if it is
/// missing, or the archive cannot be read.
std::string file_in_wheel(std::string_view bytes, std::string_view name);

}  // namespace fastgpu::envs
