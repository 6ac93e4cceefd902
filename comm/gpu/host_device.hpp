// The one macro here: what a kernel calls is marked with it, and is an ordinary function for every
// other compiler, so that tests run the very same code without a GPU.
#pragma once

#ifdef __CUDACC__
#define FASTGPU_HOST_DEVICE __host__ __device__
#else
#define FASTGPU_HOST_DEVICE
#endif
