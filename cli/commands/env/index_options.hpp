// User names and passwords for package indexes, which are not stored in env.yaml.
#pragma once

#include <string>

#include "cli/program/app.hpp"
#include "cli/program/context.hpp"
#include "envs/environments/spec.hpp"

namespace fastgpu::cli {

/// The value of --index-credentials.
struct IndexOptions {
  std::string credentials;
};
void describe_index_options(Arguments& arguments, IndexOptions& options);

/// Returns the logins of the flag's file, of FASTGPU_INDEX_LOGINS, of the spec and of ~/.netrc (or
/// NETRC), in this order. Ignores a netrc that other users may read, with a warning. Throws
/// ErrorKind::usage and not_found, naming the file.
envs::IndexLogins index_logins(Context& context, const IndexOptions& options,
                               const envs::EnvironmentSpec& spec);

}  // namespace fastgpu::cli
