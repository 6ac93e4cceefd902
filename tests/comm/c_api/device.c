/* Where there is no GPU: every call for one says so. */
#include "test.h"

void check_no_device(fgc_comm* comm) {
  float value = 1;
  fgc_status status = fgc_device_all_reduce(comm, &value, 1, FGC_FLOAT32, FGC_SUM, NULL);
  fgc_gradients* gradients = NULL;
  fgc_gradient gradient = {0};
  if (fgc_device_support()) {
    expect(status != FGC_OK, "a number of the host's is not a GPU's");
    return;
  }
  expect(status == FGC_USAGE && last_error_has("built without CUDA"), "the library has no CUDA");
  expect_status(fgc_gradients_create(comm, NULL, &gradients), FGC_OK, "gradients");
  gradient.struct_size = sizeof(gradient);
  gradient.name = "on a GPU";
  gradient.data = &value;
  gradient.memory = FGC_DEVICE;
  expect(fgc_gradient_add(gradients, &gradient, NULL) == FGC_USAGE &&
             last_error_has("built without CUDA"),
         "gradients of a GPU are refused without CUDA");
  fgc_gradients_free(gradients);
}
