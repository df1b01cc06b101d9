/*
 * Part of libsyncedmem. SPDX-License-Identifier: BSD-2-Clause
 * Generated from the Rust source by cbindgen. Do not edit.
 *
 * Blobs: Caffe's Blob over the SyncedMemory of syncedmem.h.
 *
 * A syncedmem_blob_t is a shape and two arrays, the data and the diff: a parameter `array` is a syncedmem_array_t.
 * Each array has a syncedmem_t, which syncedmem_blob_memory writes: every call of syncedmem.h works on it. The rules
 * are those of Caffe's Blob, without the faults that docs/blob.md lists.
 *
 * Ownership. syncedmem_blob_create pairs with syncedmem_blob_destroy. The syncedmem_t of an array belongs to the blobs
 * that share it: never destroy it, and do not use it after a call that gives the array other memory (a reshape beyond
 * its capacity, setting data, syncedmem_blob_share), or that destroys its last blob. Tensors made of it keep its
 * memory.
 *
 * Threads. Any number of threads may at once call functions whose blob is const. Each other call needs the blob alone,
 * and scale, update and copies need its memory alone too. Blobs that share memory may be used and destroyed on
 * different threads.
 *
 * All else is as in syncedmem.h. After an error the blob is as it was, but a side of its memory may have been brought
 * up to date. An axis that does not exist gives INVALID_ARGUMENT.
 */

#ifndef SYNCEDMEM_BLOB_H
#define SYNCEDMEM_BLOB_H

#include "syncedmem.h"

/** The most axes of a blob. */
#define SYNCEDMEM_BLOB_MAX_AXES 32

/** Bytes for the text of any shape. */
#define SYNCEDMEM_BLOB_SHAPE_STRING_BYTES 384

/** A blob. */
typedef struct syncedmem_blob_t syncedmem_blob_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Creates a blob without shape and memory, and writes its handle to `*blob`. `type` is a `syncedmem_type_t`:
 * `SYNCEDMEM_FLOAT32`, `SYNCEDMEM_FLOAT64`, `SYNCEDMEM_INT32` or `SYNCEDMEM_UINT32`.
 *
 * Errors: `UNSUPPORTED` (another type).
 */
syncedmem_status_t syncedmem_blob_create(int32_t type, struct syncedmem_blob_t **blob);

/** Destroys a blob. */
syncedmem_status_t syncedmem_blob_destroy(struct syncedmem_blob_t *blob);

/**
 * Gives the blob the `axes` dimensions at `shape`. Without axes the count is 1. An array keeps its memory with the
 * contents if that is large enough (`syncedmem_blob_capacity`), or else gets new memory.
 *
 * Errors: `INVALID_ARGUMENT` (also more than `SYNCEDMEM_BLOB_MAX_AXES` axes, a negative dimension, or a count above
 * INT_MAX).
 */
syncedmem_status_t syncedmem_blob_reshape(struct syncedmem_blob_t *blob,
                                          size_t axes,
                                          const int64_t *shape);

/** Writes the type of the blob's elements to `*type`. */
syncedmem_status_t syncedmem_blob_type(const struct syncedmem_blob_t *blob, syncedmem_type_t *type);

/** Writes the number of axes to `*axes`. */
syncedmem_status_t syncedmem_blob_axes(const struct syncedmem_blob_t *blob, size_t *axes);

/** Writes the dimension of an axis to `*dim`. A negative axis counts from the end: -1 is the last. */
syncedmem_status_t syncedmem_blob_shape(const struct syncedmem_blob_t *blob, int64_t axis, int64_t *dim);

/**
 * Writes the dimension of a legacy axis to `*dim`: 0 is num, 1 channels, 2 height, 3 width, and -4 to -1 the same from
 * the end. Missing ones are 1.
 *
 * Errors: `INVALID_ARGUMENT` (also another axis, or a blob of more than four).
 */
syncedmem_status_t syncedmem_blob_legacy_shape(const struct syncedmem_blob_t *blob,
                                               int64_t axis,
                                               int64_t *dim);

/** Writes the number of elements of an array, the product of the dimensions, to `*count`; 0 without a shape. */
syncedmem_status_t syncedmem_blob_count(const struct syncedmem_blob_t *blob, int64_t *count);

/**
 * Writes the product of the dimensions of the axes from `start` up to `end`, exclusive, to `*count`; 1 for an empty range.
 *
 * Errors: `INVALID_ARGUMENT` (also not 0 <= start <= end <= axes, or a product above INT_MAX).
 */
syncedmem_status_t syncedmem_blob_count_axes(const struct syncedmem_blob_t *blob,
                                             int64_t start,
                                             int64_t end,
                                             int64_t *count);

/**
 * Writes the place of an element among the count to `*offset`. `indices` has one index for each axis; missing ones at
 * the end are 0.
 *
 * Errors: `INVALID_ARGUMENT` (also too many indices, or an index outside of its axis).
 */
syncedmem_status_t syncedmem_blob_offset(const struct syncedmem_blob_t *blob,
                                         size_t length,
                                         const int64_t *indices,
                                         int64_t *offset);

/**
 * Works as `syncedmem_blob_offset`, for four legacy indices. Each may be one past its axis, for the end of a range: compare
 * the offset with the count before you read.
 *
 * Errors: `INVALID_ARGUMENT` (also more than four axes, an index outside of that, or an offset above INT_MAX).
 */
syncedmem_status_t syncedmem_blob_legacy_offset(const struct syncedmem_blob_t *blob,
                                                int64_t num,
                                                int64_t channels,
                                                int64_t height,
                                                int64_t width,
                                                int64_t *offset);

/**
 * Writes the shape to `text` as Caffe does, such as `2 3 (6)`, with NUL at its end.
 *
 * Errors: `INVALID_ARGUMENT` (also `bytes` is too small; `SYNCEDMEM_BLOB_SHAPE_STRING_BYTES` are always enough).
 */
syncedmem_status_t syncedmem_blob_shape_string(const struct syncedmem_blob_t *blob,
                                               char *text,
                                               size_t bytes);

/**
 * Writes to `*equals` whether the blob has the `axes` dimensions at `shape`. With `legacy` they are an old file's num,
 * channels, height and width, compared from the end: a bias of N is 1, 1, 1, N there.
 *
 * Errors: `INVALID_ARGUMENT` (also `legacy` with another number of axes than four).
 */
syncedmem_status_t syncedmem_blob_shape_equals(const struct syncedmem_blob_t *blob,
                                               size_t axes,
                                               const int64_t *shape,
                                               bool legacy,
                                               bool *equals);

/** Writes the size of an array's memory to `*bytes`; 0 without a shape. */
syncedmem_status_t syncedmem_blob_capacity(const struct syncedmem_blob_t *blob, int32_t array, size_t *bytes);

/**
 * Writes the memory of an array to `*mem`. It stays the blob's (see "Ownership" above). It may be larger than the array,
 * whose elements come first.
 *
 * Errors: `INVALID_STATE` (the blob has no shape).
 */
syncedmem_status_t syncedmem_blob_memory(const struct syncedmem_blob_t *blob,
                                         int32_t array,
                                         syncedmem_t **mem);

/** Works as `syncedmem_blob_memory`, and makes the caller an owner too, until `syncedmem_blob_release_memory`. */
syncedmem_status_t syncedmem_blob_hold_memory(const struct syncedmem_blob_t *blob,
                                              int32_t array,
                                              syncedmem_t **mem);

/**
 * Ends one ownership of `syncedmem_blob_hold_memory`, on any thread. The memory ends with its last owner. NULL does
 * nothing.
 */
syncedmem_status_t syncedmem_blob_release_memory(syncedmem_t *mem);

/**
 * Borrows the caller's memory as the host side of an array, which is then the newest. Memory of another size than the
 * count's is replaced first, and no longer shared.
 *
 * Errors: `INVALID_ARGUMENT` (also an address that is no multiple of the element's size), `INVALID_STATE` (the blob
 * has no shape), `EXPORTED` (tensors of memory that stays are in use).
 *
 * # Safety
 * `data` is readable and writable for all elements while the blob refers to it.
 */
syncedmem_status_t syncedmem_blob_set_cpu_data(struct syncedmem_blob_t *blob,
                                               int32_t array,
                                               void *data);

/**
 * Works as `syncedmem_blob_set_cpu_data`, for the device side.
 *
 * # Safety
 * `data` is device memory of all elements while the blob refers to it.
 */
syncedmem_status_t syncedmem_blob_set_gpu_data(struct syncedmem_blob_t *blob, int32_t array, void *data);

/**
 * Makes `blob` share the memory of `other`'s array, for the same array, until one of the two gets other memory.
 *
 * Errors: `INVALID_ARGUMENT` (also other counts or types), `INVALID_STATE` (`other` has no shape).
 */
syncedmem_status_t syncedmem_blob_share(struct syncedmem_blob_t *blob,
                                        int32_t array,
                                        const struct syncedmem_blob_t *other);

/**
 * Copies the elements of `source`'s array to the same array of `blob`, on the side where they are; if on both, on the
 * device. An array that was never touched counts as zeros. With `reshape` the blob takes the shape of `source`.
 *
 * Errors: `INVALID_ARGUMENT` (also other types; other shapes without `reshape`), `INVALID_STATE` (`source` has no
 * shape). After `DRIVER` and `PENDING` the elements may be lost.
 */
syncedmem_status_t syncedmem_blob_copy_from(struct syncedmem_blob_t *blob,
                                            int32_t array,
                                            const struct syncedmem_blob_t *source,
                                            bool reshape);

/**
 * Writes the address of the dimensions in device memory, one `int` for each axis, to `*shape`; NULL without axes. It
 * is valid until the shape changes.
 */
syncedmem_status_t syncedmem_blob_gpu_shape(const struct syncedmem_blob_t *blob,
                                            const void **shape);

/**
 * Subtracts the diff from the data, element by element, on the side where the data is; if on both, on the device. The
 * device needs cuBLAS, which is loaded at the first use; without it the host computes.
 *
 * Errors: `INVALID_STATE` (the blob has no shape, or its data was never touched), `UNSUPPORTED` (integers).
 */
syncedmem_status_t syncedmem_blob_update(struct syncedmem_blob_t *blob);

/**
 * Writes the sum of an array's absolute values to `*sum`, computed where the array is; 0 if it was never touched. The
 * host sums in doubles, in an order that does not depend on the CPU.
 *
 * Errors: `UNSUPPORTED` (integers).
 */
syncedmem_status_t syncedmem_blob_asum(const struct syncedmem_blob_t *blob,
                                       int32_t array,
                                       double *sum);

/** Works as `syncedmem_blob_asum`, for the sum of the squares. */
syncedmem_status_t syncedmem_blob_sumsq(const struct syncedmem_blob_t *blob, int32_t array, double *sum);

/**
 * Multiplies the elements of an array by `factor`, rounded to their type, where the array is; does nothing if it was
 * never touched.
 *
 * Errors: as `syncedmem_blob_asum`.
 */
syncedmem_status_t syncedmem_blob_scale(struct syncedmem_blob_t *blob,
                                        int32_t array,
                                        double factor);

/**
 * Writes to `*count` how many calls computed on the host, although the array was on the device, because cuBLAS was not
 * found. The first one prints a warning on standard error.
 */
syncedmem_status_t syncedmem_blob_computed_on_host(uint64_t *count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SYNCEDMEM_BLOB_H */
