// Compiled when the build is configured, to see whether nvcc and the C++ compiler that it finds get
// along.
#include <span>

__global__ void probe(int* to) {
  *to = 1;
}
