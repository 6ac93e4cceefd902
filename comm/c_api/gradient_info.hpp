// The description of a gradient or parameter from C, checked.
#pragma once

#include "comm/fusion/gradient_table.hpp"
#include "comm/include/fastgpu_comm.h"

namespace fastgpu::comm::c_api {

/// Throws ErrorKind::usage, naming what is wrong.
GradientInfo gradient_info_of(const fgc_gradient& given);

}  // namespace fastgpu::comm::c_api
