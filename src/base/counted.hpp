// Numbers of things as text.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace fastgpu {

/// Returns the plural of a regular English noun: "nodes", "processes".
std::string plural(std::string_view noun);

/// Returns "1 node", "3 nodes": `noun` is the singular.
template <std::integral Number>
std::string counted(Number count, std::string_view noun) {
  return std::to_string(count) + " " + (count == 1 ? std::string(noun) : plural(noun));
}

}  // namespace fastgpu
