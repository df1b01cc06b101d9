/* The layers of a Caffe model and their values, without Caffe and without protobuf. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "syncedmem_model.h"

/* Prints the library's sentence if the call fails. */
static void check(syncedmem_status_t status) {
  if (status != SYNCEDMEM_SUCCESS) {
    fprintf(stderr, "%s: %s\n", syncedmem_status_name(status), syncedmem_last_error());
    exit(1);
  }
}

int main(int arguments, char **argument) {
  const char *sentence, *file = arguments > 1 ? argument[1] : "examples/small.caffemodel";
  if (syncedmem_cuda_status(&sentence) != SYNCEDMEM_SUCCESS) {
    fprintf(stderr, "%s\n", sentence);
    return 1;
  }

  syncedmem_model_t *model;
  size_t layers;
  check(syncedmem_model_open(file, &model));
  check(syncedmem_model_layer_count(model, &layers));
  for (size_t layer = 0; layer < layers; layer++) {
    const char *name, *type;
    size_t blobs;
    check(syncedmem_model_layer(model, layer, &name, &type, &blobs));
    printf("%s (%s): %zu blobs\n", name, type, blobs);
    for (size_t blob = 0; blob < blobs; blob++) {
      syncedmem_blob_info_t info = {.size = sizeof info};
      syncedmem_t *mem;
      const void *data;
      check(syncedmem_model_blob_info(model, layer, blob, &info));
      check(syncedmem_create(info.count * sizeof(float), &mem));
      check(syncedmem_model_read_blob(model, layer, blob, SYNCEDMEM_DATA, SYNCEDMEM_FLOAT32, mem));
      check(syncedmem_cpu_data(mem, &data));
      printf("  %zu: %" PRIu64 " values, the first %g\n", blob, info.count, (double)*(const float *)data);
      check(syncedmem_gpu_data(mem, &data)); /* on the device, like any other data */
      check(syncedmem_destroy(mem));
    }
  }
  check(syncedmem_model_close(model));
  return 0;
}
