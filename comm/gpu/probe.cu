// Compiled when the build is configured, to test that nvcc works with the C++ compiler that it
// finds.
#include <span>

__global__ void probe(int* to) {
  *to = 1;
}
