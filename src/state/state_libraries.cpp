#include "state/state_libraries.hpp"

#include <sqlite3.h>

namespace fastgpu::state {

std::map<std::string, std::string> library_versions() {
  return {{"sqlite", ::sqlite3_libversion()}};
}

}  // namespace fastgpu::state
