/*
 * Bad use of tensors from C: each call returns a status and a sentence, and changes nothing.
 * Prints a line for each check that fails, and how many were made.
 */
#include <stddef.h>
#include <stdint.h>

#include "support/dlpack.h"
#include "support/refused.h"

enum { floats = 6, bytes = floats * sizeof(float) };
static char sentinel_target;
static void *const sentinel = &sentinel_target;

#define EXPORTED(call, part) REFUSED(call, SYNCEDMEM_ERROR_EXPORTED, part)

static const int64_t six[] = {2, 3};

/* A tensor of floats of the host side. */
static DLManagedTensorVersioned *exported(syncedmem_t *mem, int32_t access) {
  void *tensor = NULL;
  WORKS(syncedmem_to_dlpack(mem, SYNCEDMEM_HOST, access, kDLFloat, 32, 2, six, true, &tensor));
  return (DLManagedTensorVersioned *)tensor;
}

static void end(DLManagedTensorVersioned *tensor) { tensor->deleter(tensor); }

static size_t in_use(const syncedmem_t *mem) {
  size_t host = 77, device = 77;
  WORKS(syncedmem_exports(mem, &host, &device));
  CHECK(device == 0);
  return host;
}

static void nulls_and_unknown_numbers(syncedmem_t *mem) {
  const int32_t unknown[] = {-1, 3, 99, INT32_MAX, INT32_MIN};
  void *out = sentinel;
  void *odd = (char *)&out + 1;
  int64_t shapes[3] = {2, 3, 0};
  const int64_t *misaligned = (const int64_t *)(void *)((char *)shapes + 4);
  size_t host = 77, i;
  syncedmem_head_t head = SYNCEDMEM_SYNCED;

  INVALID(syncedmem_to_dlpack(NULL, 0, 0, kDLFloat, 32, 2, six, true, &out), "mem is NULL");
  INVALID(syncedmem_to_dlpack(mem, 0, 0, kDLFloat, 32, 2, six, true, NULL), "pointer for the result is NULL");
  INVALID(syncedmem_to_dlpack(mem, 0, 0, kDLFloat, 32, 2, six, true, (void **)odd), "misaligned");
  INVALID(syncedmem_to_dlpack(mem, 0, 0, kDLFloat, 32, 2, NULL, true, &out), "shape is NULL");
  INVALID(syncedmem_to_dlpack(mem, 0, 0, kDLFloat, 32, 1, misaligned, true, &out), "misaligned");
  for (i = 0; i < sizeof unknown / sizeof *unknown; ++i) {
    INVALID(syncedmem_to_dlpack(mem, unknown[i], 0, kDLFloat, 32, 2, six, true, &out), "side");
    INVALID(syncedmem_to_dlpack(mem, 0, unknown[i], kDLFloat, 32, 2, six, true, &out), "access");
  }
  INVALID(syncedmem_to_dlpack(mem, 2, 0, kDLFloat, 32, 2, six, true, &out), "side");
  INVALID(syncedmem_set_dlpack(NULL, sentinel, true), "mem is NULL");
  INVALID(syncedmem_set_dlpack(mem, NULL, true), "tensor is NULL");
  INVALID(syncedmem_set_dlpack(mem, NULL, false), "tensor is NULL");
  INVALID(syncedmem_exports(NULL, &host, &host), "mem is NULL");
  INVALID(syncedmem_exports(mem, NULL, &host), "pointer for the result is NULL");
  INVALID(syncedmem_exports(mem, &host, NULL), "pointer for the result is NULL");
  INVALID(syncedmem_stream_wait(NULL, NULL), "mem is NULL");
  WORKS(syncedmem_head(mem, &head));
  CHECK(out == sentinel && host == 77 && head == SYNCEDMEM_UNINITIALIZED && in_use(mem) == 0);
}

static void types_and_shapes_that_cannot_be(syncedmem_t *mem) {
  const struct { uint8_t code, bits; } types[] = {{kDLFloat, 0},  {kDLFloat, 8},         {kDLFloat, 31}, {kDLFloat, 255},
                                                  {kDLInt, 4},    {kDLOpaqueHandle, 64}, {15, 32},       {255, 32},
                                                  {kDLUInt, 128}, {kDLBool, 1}};
  const struct { int32_t ndim; int64_t shape[3]; } shapes[] = {
      {1, {-1}},           {2, {-2, -3}},          {1, {7}},         {3, {2, 2, 2}},
      {1, {INT64_MAX}},    {1, {INT64_MIN}},       {-1, {6}},        {INT32_MIN, {6}},
      {2, {INT64_MAX, 2}}, {2, {1LL << 32, 1LL << 32}}, {2, {0, -1}},
  };
  int64_t many[65];
  void *out = sentinel;
  syncedmem_head_t head = SYNCEDMEM_SYNCED;
  size_t i;

  for (i = 0; i < sizeof types / sizeof *types; ++i) {
    INVALID(syncedmem_to_dlpack(mem, 0, 1, types[i].code, types[i].bits, 0, NULL, true, &out), "pass");
  }
  for (i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    INVALID(syncedmem_to_dlpack(mem, 0, 1, kDLFloat, 32, shapes[i].ndim, shapes[i].shape, true, &out), "pass");
  }
  for (i = 0; i < 65; ++i) many[i] = 1;
  INVALID(syncedmem_to_dlpack(mem, 0, 1, kDLFloat, 32, 65, many, true, &out), "pass");
  WORKS(syncedmem_head(mem, &head));
  CHECK(out == sentinel && head == SYNCEDMEM_UNINITIALIZED && in_use(mem) == 0);
}

static void reading_without_a_version(syncedmem_t *mem) {
  void *out = sentinel;
  DLManagedTensor *legacy;

  INVALID(syncedmem_to_dlpack(mem, 0, SYNCEDMEM_READ, kDLFloat, 32, 2, six, false, &out), "read-only");
  CHECK(out == sentinel && in_use(mem) == 0);
  WORKS(syncedmem_to_dlpack(mem, 0, SYNCEDMEM_WRITE, kDLFloat, 32, 2, six, false, &out));
  legacy = (DLManagedTensor *)out;
  CHECK(legacy->tensor.device_type == kDLCPU && legacy->tensor.shape[1] == 3 && in_use(mem) == 1);
  legacy->deleter(legacy);
  CHECK(in_use(mem) == 0);
}

/* Calls that would free the memory of a tensor fail while it lives. The tensor outlives its handle. */
static void while_a_tensor_lives(void) {
  uint64_t storage[4];
  float other[floats] = {0};
  int deleted = 0;
  int64_t elements = floats;
  DLManagedTensorVersioned lent = floats_of(other, &elements, &deleted);
  syncedmem_t *mem = NULL;
  DLManagedTensorVersioned *tensor, *another;

  WORKS(syncedmem_construct(storage, sizeof storage, bytes, &mem));
  tensor = exported(mem, SYNCEDMEM_WRITE);
  EXPORTED(syncedmem_destruct(mem), "tensor");
  EXPORTED(syncedmem_set_cpu_data(mem, other), "tensor");
  EXPORTED(syncedmem_set_dlpack(mem, &lent, true), "tensor");
  EXPORTED(syncedmem_set_evictable(mem, SYNCEDMEM_EVICT_ALWAYS), "tensor");
  EXPORTED(syncedmem_release_cpu(mem), "tensor");
  ((float *)tensor->tensor.data)[floats - 1] = 3;
  CHECK(deleted == 0 && in_use(mem) == 1);
  end(tensor);
  WORKS(syncedmem_destruct(mem));
  DEAD(syncedmem_exports(mem, &(size_t){0}, &(size_t){0}));

  WORKS(syncedmem_create(bytes, &mem));
  tensor = exported(mem, SYNCEDMEM_WRITE);
  ((float *)tensor->tensor.data)[floats - 1] = 3;
  another = exported(mem, SYNCEDMEM_READ);
  CHECK((another->flags & kReadOnly) != 0 && (tensor->flags & kReadOnly) == 0);
  WORKS(syncedmem_destroy(mem));
  /* The memory still exists, but the handle was destroyed and is refused. */
  DEAD(syncedmem_destroy(mem));
  DEAD(syncedmem_to_dlpack(mem, 0, 0, kDLFloat, 32, 2, six, true, &(void *){NULL}));
  end(tensor);
  CHECK(((float *)another->tensor.data)[floats - 1] == 3);
  end(another);
}

static void tensors_that_cannot_be_lent(void) {
  float data[2 * floats] = {0};
  int64_t elements = floats, strides = 2, many = floats + 1, negative = -floats;
  int deleted = 0;
  int kind;

  for (kind = 0; kind < 10; ++kind) {
    DLManagedTensorVersioned lent = floats_of(data, &elements, &deleted);
    syncedmem_t *mem = NULL;
    syncedmem_head_t head = SYNCEDMEM_SYNCED;
    switch (kind) {
      case 0: lent.flags = kReadOnly; break;
      case 1: lent.major = 2; break;
      case 2: lent.tensor.device_type = kDLOpenCL; break;
      case 3: lent.tensor.data = NULL; break;
      case 4: lent.tensor.shape = NULL; break;
      case 5: lent.tensor.ndim = -1; break;
      case 6: lent.tensor.strides = &strides; break;
      case 7: lent.tensor.shape = &many; break;
      case 8: lent.tensor.shape = &negative; break;
      default: lent.tensor.type_bits = 16; break;
    }
    WORKS(syncedmem_create(bytes, &mem));
    INVALID(syncedmem_set_dlpack(mem, &lent, true), "tensor");
    WORKS(syncedmem_head(mem, &head));
    CHECK(head == SYNCEDMEM_UNINITIALIZED && deleted == 0);
    WORKS(syncedmem_destroy(mem));
  }
}

/* A tensor belongs to the caller until the library takes it. Its deleter is called once. */
static void a_lent_tensor_is_let_go_once(void) {
  float data[floats] = {1, 2, 3, 4, 5, 6};
  int64_t elements = floats;
  int deleted = 0;
  DLManagedTensorVersioned lent = floats_of(data, &elements, &deleted);
  DLManagedTensorVersioned *tensor;
  const void *read = NULL;
  syncedmem_t *mem = NULL;

  WORKS(syncedmem_create(bytes, &mem));
  WORKS(syncedmem_set_dlpack(mem, &lent, true));
  WORKS(syncedmem_cpu_data(mem, &read));
  CHECK(read == data && deleted == 0);
  tensor = exported(mem, SYNCEDMEM_READ);
  WORKS(syncedmem_destroy(mem));
  CHECK(deleted == 0);
  end(tensor);
  CHECK(deleted == 1);
}

static void without_a_gpu(syncedmem_t *mem) {
  float data[floats] = {0};
  int64_t elements = floats;
  int deleted = 0;
  DLManagedTensorVersioned lent = floats_of(data, &elements, &deleted);
  void *out = sentinel;

  lent.tensor.device_type = kDLCUDA;
  REFUSED(syncedmem_to_dlpack(mem, 1, 0, kDLFloat, 32, 2, six, true, &out), SYNCEDMEM_ERROR_NO_GPU, "no GPU: ");
  REFUSED(syncedmem_set_dlpack(mem, &lent, true), SYNCEDMEM_ERROR_NO_GPU, "no GPU: ");
  REFUSED(syncedmem_stream_wait(mem, (struct CUstream_st *)sentinel), SYNCEDMEM_ERROR_NO_GPU, "no GPU: ");
  CHECK(out == sentinel && deleted == 0 && in_use(mem) == 0);
}

static void after_the_end(void) {
  uint64_t storage[4];
  float data[floats] = {0};
  int64_t elements = floats;
  int deleted = 0;
  DLManagedTensorVersioned lent = floats_of(data, &elements, &deleted);
  syncedmem_t *mem = NULL;
  void *out = sentinel;
  size_t host = 77, device = 77;

  WORKS(syncedmem_construct(storage, sizeof storage, bytes, &mem));
  WORKS(syncedmem_destruct(mem));
  DEAD(syncedmem_to_dlpack(mem, 0, 0, kDLFloat, 32, 2, six, true, &out));
  DEAD(syncedmem_set_dlpack(mem, &lent, true));
  DEAD(syncedmem_exports(mem, &host, &device));
  DEAD(syncedmem_stream_wait(mem, NULL));
  CHECK(out == sentinel && deleted == 0 && host == 77 && device == 77);
}

int main(void) {
  syncedmem_t *mem = NULL;

  WORKS(syncedmem_create(bytes, &mem));
  nulls_and_unknown_numbers(mem);
  types_and_shapes_that_cannot_be(mem);
  without_a_gpu(mem);
  reading_without_a_version(mem);
  WORKS(syncedmem_destroy(mem));
  while_a_tensor_lives();
  tensors_that_cannot_be_lent();
  a_lent_tensor_is_let_go_once();
  after_the_end();

  printf("bad tensors: %d checks, %d failed\n", checks, failures);
  return failures == 0 ? 0 : 1;
}
