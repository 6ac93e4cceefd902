// The one macro here: it marks the functions that kernels call. For every other compiler they are
// ordinary functions, so that tests run the very same code without a GPU.
#pragma once

#ifdef __CUDACC__
#define FASTGPU_HOST_DEVICE __host__ __device__
#else
#define FASTGPU_HOST_DEVICE
#endif
