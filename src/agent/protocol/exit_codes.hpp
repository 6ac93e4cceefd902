// The agent's exit codes, and the kinds of errors that they report.
#pragma once

#include "base/error.hpp"

namespace fastgpu::agent {

/// The agent's exit code for a full disk, or another exhausted resource.
inline constexpr int kNoRoom = 4;

/// The agent's exit code for a job whose id another machine has given to one of its own.
inline constexpr int kIdTaken = 6;

/// The agent's exit code where another host has made the folder of the same job: they share a home
/// directory.
inline constexpr int kHomeShared = 7;

/// The agent's exit code for an action that the node does not allow.
inline constexpr int kNotAllowed = 126;

/// The agent's exit code if something is missing on the node, such as the job that was asked for.
inline constexpr int kNotThere = 127;

/// Returns the exit code of an agent that ends with an error.
constexpr int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
      return 2;
    case ErrorKind::denied:
      return kNotAllowed;
    case ErrorKind::capacity:
      return kNoRoom;
    case ErrorKind::not_found:
      return kNotThere;
    case ErrorKind::conflict:
    case ErrorKind::transient:
    case ErrorKind::timeout:
    case ErrorKind::interrupted:
    case ErrorKind::remote:
    case ErrorKind::local:
    case ErrorKind::internal:
      return 1;
  }
  return 1;
}

/// Returns the kind of the error that a command on a node ended with. Shells use the same codes for
/// a program that is missing, or may not be run. The user cannot change a wrong call of the agent,
/// which is therefore `remote`.
constexpr ErrorKind kind_of_exit(int code) noexcept {
  switch (code) {
    case kNoRoom:
      return ErrorKind::capacity;
    case kNotAllowed:
      return ErrorKind::denied;
    case kNotThere:
      return ErrorKind::not_found;
    default:
      return ErrorKind::remote;
  }
}

}  // namespace fastgpu::agent
