// A kernel that needs more registers than it may have.
__global__ void __launch_bounds__(1024) kernel_that_spills(float* data) {
  float values[128];
  for (int i = 0; i < 128; ++i) values[i] = data[i * 1024 + threadIdx.x];
  for (int round = 0; round < 100; ++round)
    for (int i = 0; i < 128; ++i) values[i] = values[i] * values[(i * 7 + 1) % 128] + 1;
  for (int i = 0; i < 128; ++i) data[i * 1024 + threadIdx.x] = values[i];
}
