// Moves a finished tree to another file system, which a rename cannot reach.
#pragma once

#include <string>

namespace fastgpu::transfer {

/// Copies `name`, which is a file, link or directory, from the directory `from` to `new_name` in
/// the directory `to`, with modes and times. Other users must not have access to `from`. Throws
/// denied, capacity or local; `shown` names the entry in messages.
void copy_across(int from, const std::string& name, int to, const std::string& new_name,
                 const std::string& shown);

}  // namespace fastgpu::transfer
