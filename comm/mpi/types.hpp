#pragma once

#include <mpi.h>

#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm {

/// Returns MPI's name of a type, or MPI_DATATYPE_NULL if MPI has no such numbers.
inline MPI_Datatype mpi_type(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return MPI_FLOAT;
    case ElementType::float64:
      return MPI_DOUBLE;
    case ElementType::int32:
      return MPI_INT32_T;
    case ElementType::int64:
      return MPI_INT64_T;
    case ElementType::int8:
      return MPI_INT8_T;
    case ElementType::uint8:
      return MPI_UINT8_T;
    case ElementType::float16:
    case ElementType::bfloat16:
      break;
  }
  return MPI_DATATYPE_NULL;
}

}  // namespace fastgpu::comm
