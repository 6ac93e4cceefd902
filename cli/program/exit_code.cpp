#include "cli/program/app.hpp"

namespace fastgpu::cli {

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
      return 2;
    case ErrorKind::denied:
      return 3;
    case ErrorKind::capacity:
      return 4;
    case ErrorKind::not_found:
      return 5;
    case ErrorKind::conflict:
      return 6;
    case ErrorKind::timeout:
      return 124;
    case ErrorKind::interrupted:
      return 130;
    case ErrorKind::transient:
    case ErrorKind::remote:
    case ErrorKind::local:
    case ErrorKind::internal:
      return 1;
  }
  return 1;
}

std::string_view word_for(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::denied:
      return "denied";
    case ErrorKind::capacity:
      return "capacity";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::conflict:
      return "conflict";
    case ErrorKind::transient:
      return "transient";
    case ErrorKind::timeout:
      return "timeout";
    case ErrorKind::interrupted:
      return "interrupted";
    case ErrorKind::remote:
      return "remote";
    case ErrorKind::local:
      return "local";
    case ErrorKind::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace fastgpu::cli
