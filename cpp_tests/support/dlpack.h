/*
 * DLPack as another library sees it: the structures of its C ABI, and tensors for the library to borrow. For C and C++.
 */
#ifndef SUPPORT_DLPACK_H
#define SUPPORT_DLPACK_H

#include <stdint.h>

enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLOpaqueHandle = 3, kDLBool = 6 };
enum { kDLCPU = 1, kDLCUDA = 2, kDLOpenCL = 4 };
enum { kReadOnly = 1 };

typedef struct DLTensor {
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t type_code;
  uint8_t type_bits;
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor tensor;
  void *context;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor tensor;
} DLManagedTensorVersioned;

/* A deleter that counts in the `int` of the context. */
static inline void count_deleted(DLManagedTensorVersioned *self) { ++*(int *)self->context; }

/* A tensor of another library: `*elements` floats on the CPU, in one dimension. */
static inline DLManagedTensorVersioned floats_of(float *data, int64_t *elements, int *deleted) {
  DLManagedTensorVersioned borrowed = {1, 0, deleted, count_deleted, 0, {0, kDLCPU, 0, 1, kDLFloat, 32, 1, 0, 0, 0}};
  borrowed.tensor.data = data;
  borrowed.tensor.shape = elements;
  return borrowed;
}

#endif
