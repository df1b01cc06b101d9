/* A walk through Caffe2's storage, through the C API of syncedmem_caffe2.h. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "syncedmem_caffe2.h"

/* Prints the library's sentence if the call fails. */
static void check(syncedmem_status_t status) {
  if (status != SYNCEDMEM_SUCCESS) {
    fprintf(stderr, "%s: %s\n", syncedmem_status_name(status), syncedmem_last_error());
    exit(1);
  }
}

static syncedmem_tensor_info_t info_of(const syncedmem_tensor_t *tensor) {
  syncedmem_tensor_info_t info;
  check(syncedmem_tensor_info(tensor, &info));
  return info;
}

static void resize(syncedmem_tensor_t *tensor, int64_t outer, int64_t inner) {
  const int64_t dims[] = {outer, inner};
  check(syncedmem_tensor_resize(tensor, inner == 0 ? 1 : 2, dims));
}

static const float *floats_of(const syncedmem_tensor_t *tensor) {
  const void *data;
  check(syncedmem_tensor_data(tensor, NULL, &data));
  return data;
}

/* The tensor of a name: one more holder, which the caller ends. */
static syncedmem_tensor_t *tensor_of(syncedmem_workspace_t *ws, const char *name) {
  syncedmem_typed_blob_t *blob;
  syncedmem_tensor_t *tensor;
  check(syncedmem_workspace_create_blob(ws, name, &blob));
  check(syncedmem_typed_blob_get_mutable_tensor(blob, SYNCEDMEM_HOST, NULL, &tensor));
  check(syncedmem_typed_blob_destroy(blob));
  return tensor;
}

/* One blob holds one value of any type. */
static void any_type(void) {
  static char text[] = "five and a half";
  const syncedmem_typemeta_t string = {.id = text, .name = "string", .itemsize = sizeof text};
  syncedmem_typemeta_t number;
  syncedmem_typed_blob_t *blob;
  void *value;
  check(syncedmem_typed_blob_create(&blob));
  check(syncedmem_typemeta(SYNCEDMEM_INT32, &number));
  check(syncedmem_typed_blob_get_mutable(blob, &number, NULL, &value));
  *(int32_t *)value = 5;
  printf("one blob: int %d", *(int32_t *)value);
  check(syncedmem_typemeta(SYNCEDMEM_FLOAT64, &number));
  check(syncedmem_typed_blob_get_mutable(blob, &number, NULL, &value));
  *(double *)value = 5.5;
  printf(", double %g", *(double *)value);
  /* A type of this program: any address of its own identifies it. The blob refers to the text and does not own it. */
  check(syncedmem_typed_blob_reset(blob, text, &string, NULL, NULL));
  check(syncedmem_typed_blob_get(blob, &string, &value));
  printf(", string %s\n", (char *)value);
  check(syncedmem_typed_blob_destroy(blob));
}

/* A name leads to a blob, the blob to a tensor, and the tensor's first mutable data to an allocation. */
static void by_name(syncedmem_workspace_t *ws) {
  syncedmem_tensor_t *weights = tensor_of(ws, "weights");
  syncedmem_typemeta_t float32;
  void *items;
  resize(weights, 2, 3);
  printf("weights: a tensor of (2, 3), %zu bytes; ", info_of(weights).capacity_nbytes);
  check(syncedmem_typemeta(SYNCEDMEM_FLOAT32, &float32));
  check(syncedmem_tensor_mutable_data(weights, &float32, &items));
  printf("after mutable data %zu bytes\n", info_of(weights).capacity_nbytes);
  for (int at = 0; at < 6; at++) ((float *)items)[at] = (float)(at + 1);
  check(syncedmem_tensor_destroy(weights));
}

static void shrinks(syncedmem_tensor_t *tensor) {
  const float *before = floats_of(tensor);
  syncedmem_tensor_t *other;
  resize(tensor, 1, 2);
  printf("shrink to (1, 2): %zu of %zu bytes, %s memory\n", info_of(tensor).nbytes, info_of(tensor).capacity_nbytes,
         floats_of(tensor) == before ? "the same" : "other");
  resize(tensor, 2, 3);
  printf("back to (2, 3): %zu of %zu bytes, %s memory\n", info_of(tensor).nbytes, info_of(tensor).capacity_nbytes,
         floats_of(tensor) == before ? "the same" : "other");
  check(syncedmem_tensor_create(SYNCEDMEM_HOST, &other));
  check(syncedmem_tensor_copy_from(other, tensor));
  check(syncedmem_tensor_set_keep_on_shrink(false, 0));
  resize(other, 1, 2);
  printf("without keep on shrink, to (1, 2): %zu of %zu bytes\n", info_of(other).nbytes, info_of(other).capacity_nbytes);
  check(syncedmem_tensor_set_keep_on_shrink(true, INT64_MAX));
  check(syncedmem_tensor_destroy(other));
}

static void add(const char *name, syncedmem_typed_blob_t *blob, size_t bytes, void *total) {
  (void)name;
  (void)blob;
  *(size_t *)total += bytes;
}

static void shares(syncedmem_workspace_t *ws) {
  syncedmem_tensor_t *weights = tensor_of(ws, "weights"), *flat = tensor_of(ws, "flat");
  size_t total = 0;
  void *items;
  resize(flat, 6, 0);
  check(syncedmem_tensor_share_data(flat, weights));
  check(syncedmem_workspace_blobs(ws, false, add, &total));
  printf("flat shares the memory of weights: it reads %g, and the workspace has %zu bytes\n", (double)floats_of(flat)[5],
         total);
  resize(flat, 7, 0);
  check(syncedmem_tensor_mutable_data(flat, NULL, &items));
  printf("flat resized to 7: %zu of %zu bytes, weights still ends with %g\n", info_of(flat).nbytes,
         info_of(flat).capacity_nbytes, (double)floats_of(weights)[5]);
  check(syncedmem_tensor_destroy(flat));
  check(syncedmem_tensor_destroy(weights));
}

static void to_the_device(const syncedmem_tensor_t *tensor) {
  syncedmem_tensor_t *device, *back;
  check(syncedmem_tensor_create(SYNCEDMEM_DEVICE, &device));
  check(syncedmem_tensor_create(SYNCEDMEM_HOST, &back));
  check(syncedmem_tensor_copy_from(device, tensor));
  check(syncedmem_tensor_copy_from(back, device));
  printf("on the device and back:");
  for (int at = 0; at < 6; at++) printf(" %g", (double)floats_of(back)[at]);
  printf("\n");
  check(syncedmem_tensor_destroy(back));
  check(syncedmem_tensor_destroy(device));
}

int main(void) {
  const char *sentence;
  if (syncedmem_cuda_status(&sentence) != SYNCEDMEM_SUCCESS) {
    fprintf(stderr, "%s\n", sentence);
    return 1;
  }
  any_type();
  syncedmem_workspace_t *ws;
  check(syncedmem_workspace_create(NULL, &ws));
  by_name(ws);
  syncedmem_tensor_t *weights = tensor_of(ws, "weights");
  shrinks(weights);
  shares(ws);
  to_the_device(weights);
  check(syncedmem_tensor_destroy(weights));
  check(syncedmem_workspace_destroy(ws));
}
