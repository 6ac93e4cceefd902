#include "base/counted.hpp"

namespace fastgpu {

std::string plural(std::string_view noun) {
  const bool hisses = noun.ends_with('s') || noun.ends_with("sh") || noun.ends_with("ch");
  return std::string(noun) + (hisses ? "es" : "s");
}

}  // namespace fastgpu
