/* Averages the gradients of a small model over all ranks, with the C interface of libfastgpu_comm.
 *
 * Build: cc gradients.c -o gradients $(pkg-config --cflags --libs fastgpu_comm)
 * Run:   fastgpu run job --cluster demo -np 2 --sync . -- ./gradients
 */
#include <fastgpu_comm.h>
#include <stdio.h>

enum { LAYERS = 3, WIDTH = 1000, STEPS = 3 };

static int failed(fgc_status status) {
  if (status != FGC_OK) fprintf(stderr, "%s: %s\n", fgc_status_name((int)status), fgc_last_error());
  return status != FGC_OK;
}

/* Your program computes here the gradient of its share of the batch. */
static void backward(float gradient[LAYERS][WIDTH], int layer, int rank) {
  int i;
  for (i = 0; i < WIDTH; ++i)
    gradient[layer][i] = (float)(layer + rank);
}

/* Registers each gradient once, in the same order on all ranks. */
static int register_gradients(fgc_gradients* gradients, float gradient[LAYERS][WIDTH]) {
  const uint64_t shape[] = {10, WIDTH / 10};
  int layer;
  for (layer = 0; layer < LAYERS; ++layer) {
    char name[32];
    fgc_gradient one = {0};
    snprintf(name, sizeof(name), "layer%d.weight", layer);
    one.struct_size = sizeof(one);
    one.name = name;
    one.data = gradient[layer];
    one.shape = shape;
    one.dimensions = 2;
    one.type = FGC_FLOAT32;
    if (failed(fgc_gradient_add(gradients, &one, NULL))) return 1;
  }
  return 0;
}

static int train(fgc_comm* comm, fgc_gradients* gradients) {
  static float gradient[LAYERS][WIDTH];
  int layer, step;
  if (register_gradients(gradients, gradient)) return 1;
  for (step = 0; step < STEPS; ++step) {
    fgc_outcome outcome = {0};
    outcome.struct_size = sizeof(outcome);
    for (layer = LAYERS - 1; layer >= 0; --layer) {
      backward(gradient, layer, fgc_rank(comm));
      if (failed(fgc_gradient_ready(gradients, (size_t)layer))) return 1; /* Sends it at once. */
    }
    if (failed(fgc_gradients_wait(gradients, &outcome))) return 1; /* Now they are averages. */
    if (!outcome.is_applied) continue; /* A value is not finite: all ranks skip this step. */
    printf("rank %d of %d, step %d: %g\n", fgc_rank(comm), fgc_size(comm), step,
           (double)gradient[LAYERS - 1][0]);
  }
  return failed(fgc_barrier(comm)); /* No rank leaves while another one still reads. */
}

int main(void) {
  fgc_comm* comm = NULL;
  fgc_gradients* gradients = NULL;
  int status = 1;
  if (!failed(fgc_init(NULL, &comm)) && !failed(fgc_gradients_create(comm, NULL, &gradients)))
    status = train(comm, gradients);
  fgc_gradients_free(gradients);
  fgc_comm_free(comm);
  return status;
}
