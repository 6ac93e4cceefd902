#include "comm/c_api/gradient_info.hpp"

#include <string>

#include "comm/c_api/arguments.hpp"

namespace fastgpu::comm::c_api {

GradientInfo gradient_info_of(const fgc_gradient& given) {
  constexpr std::size_t kMostDimensions = 255;
  if (given.dimensions > kMostDimensions)
    refuse("a gradient with " + std::to_string(given.dimensions) + " dimensions: 255 are the most");
  if (given.reserved != 0) refuse("a gradient's field 'reserved' must be 0");
  if (given.dimensions > 0) need(given.shape, "the gradient's shape");
  return {.name = &need(given.name, "the gradient's name"),
          .type = type_of(given.type),
          .shape = {given.shape, given.shape + given.dimensions},
          .priority = given.priority};
}

}  // namespace fastgpu::comm::c_api
