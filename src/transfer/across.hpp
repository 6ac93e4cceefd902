// A finished tree taken to another file system, where a rename does not lead.
#pragma once

#include <string>

namespace fastgpu::transfer {

/// Copies the file, link or directory `name` of the directory `from`, which is this user's alone,
/// to `new_name` in the directory `to`, with modes and times. Throws denied, capacity or local;
/// `shown` names it in messages.
void copy_across(int from, const std::string& name, int to, const std::string& new_name,
                 const std::string& shown);

}  // namespace fastgpu::transfer
