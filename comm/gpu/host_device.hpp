// The two macros here. One marks the functions that kernels call, the other the loops over what a
// thread has in registers, which must be unrolled to be there. For every other compiler they are
// ordinary functions and loops, so that tests run the very same code without a GPU.
#pragma once

#ifdef __CUDACC__
#define FASTGPU_HOST_DEVICE __host__ __device__
#else
#define FASTGPU_HOST_DEVICE
#endif

#ifdef __CUDA_ARCH__
#define FASTGPU_UNROLL _Pragma("unroll")
#else
#define FASTGPU_UNROLL
#endif
