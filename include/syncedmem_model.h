/*
 * Part of libsyncedmem. SPDX-License-Identifier: BSD-2-Clause
 * Generated from the Rust source by cbindgen. Do not edit.
 *
 * Model files: Caffe's .caffemodel, .binaryproto and .solverstate, and Caffe2's init_net.pb, without Caffe, Caffe2 or
 * protobuf.
 *
 * syncedmem_model_open reads the structure of a file (layers, names, shapes, types) and no values, so that a file of
 * any size opens in milliseconds. A file that is no net has one layer of all blobs: "blobs", or a solver's "history".
 *
 * Ownership. syncedmem_model_open pairs with syncedmem_model_close. Strings and shapes of a model live until it is
 * closed. Objects filled from it do not depend on it.
 *
 * Threads. Any number of threads may use one model at once, each with its own objects, and so may a forked child.
 * Only syncedmem_model_close needs the model alone.
 *
 * Files. The file stays open until the model is closed. It is read, never mapped: one that another program cuts
 * meanwhile gives SYNCEDMEM_ERROR_FILE, not a signal. A layer or blob that does not exist gives INVALID_ARGUMENT.
 *
 * All else is as in syncedmem.h, except that calls need a stack of 64 KiB, and that signal handlers may not make them.
 */

#ifndef SYNCEDMEM_MODEL_H
#define SYNCEDMEM_MODEL_H

#include "syncedmem_blob.h"

/** What a model file holds. */
enum syncedmem_model_kind_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** A net: `.caffemodel`. */
  SYNCEDMEM_MODEL_NET = 0,
  /** One blob: `.binaryproto`, such as a mean image. */
  SYNCEDMEM_MODEL_BLOB = 1,
  /** A list of blobs: `.binaryproto`. */
  SYNCEDMEM_MODEL_BLOBS = 2,
  /** The state of a solver: `.solverstate`. */
  SYNCEDMEM_MODEL_SOLVER_STATE = 3,
  /**
   * Caffe2's weights: `init_net.pb`. Each tensor is a layer, with its operator as its type. Blobs 1 and 2 of a quantized
   * one are its scale and its zero point.
   */
  SYNCEDMEM_MODEL_INIT_NET = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_model_kind_t syncedmem_model_kind_t;
#else
typedef int32_t syncedmem_model_kind_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** What a blob is to the PyTorch module that corresponds to its layer. */
enum syncedmem_torch_role_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** There is no such module, or the layer has other blobs than Caffe's. */
  SYNCEDMEM_TORCH_NONE = 0,
  /** `weight`. */
  SYNCEDMEM_TORCH_WEIGHT = 1,
  /** `weight`, with its two axes swapped. */
  SYNCEDMEM_TORCH_TRANSPOSED_WEIGHT = 2,
  /** `bias`. */
  SYNCEDMEM_TORCH_BIAS = 3,
  /** `running_mean`, times the factor if the layer has one. */
  SYNCEDMEM_TORCH_RUNNING_MEAN = 4,
  /** `running_var`, times the factor if the layer has one. */
  SYNCEDMEM_TORCH_RUNNING_VAR = 5,
  /**
   * The factor, which PyTorch does not have. If it is 0, BVLC's Caffe takes the mean and the variance for zeros, NVIDIA's
   * takes them unscaled.
   */
  SYNCEDMEM_TORCH_FACTOR = 6,
  /** A blob that PyTorch has no use for. */
  SYNCEDMEM_TORCH_UNUSED = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_torch_role_t syncedmem_torch_role_t;
#else
typedef int32_t syncedmem_torch_role_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** A model file that is open. */
typedef struct syncedmem_model_t syncedmem_model_t;

/** What a model file contains beside its layers. */
typedef struct syncedmem_model_info_t {
  /** `sizeof(syncedmem_model_info_t)` before the call, then the bytes written. */
  size_t size;
  /** A `syncedmem_model_kind_t`. */
  int32_t kind;
  /** The iteration of a solver's state; else 0. */
  int32_t iter;
  /** The step of the learning rate in a solver's state; else 0. */
  int32_t current_step;
  /** The net's name, or empty. */
  const char *name;
  /** The `.caffemodel` that was saved with a solver's state; else empty. */
  const char *learned_net;
} syncedmem_model_info_t;

/** What a model file says about a blob. */
typedef struct syncedmem_blob_info_t {
  /** `sizeof(syncedmem_blob_info_t)` before the call, then the bytes written. */
  size_t size;
  /** How its values are stored: a `syncedmem_type_t`. */
  int32_t element_type;
  /** Number of dimensions of `shape`; 0 for a single value. */
  int axes;
  /** The stored dimensions. */
  const int64_t *shape;
  /** Number of dimensions of `net_shape`. */
  int net_axes;
  /** The dimensions in the net: without the leading ones of files from before 2015. */
  const int64_t *net_shape;
  /** Number of values. It fits the shape, or `syncedmem_model_read_blob` gives `FORMAT`. */
  uint64_t count;
  /** Whether gradients are stored too. */
  bool has_diff;
  /** How they are stored: a `syncedmem_type_t`. */
  int32_t diff_element_type;
  /** A `syncedmem_torch_role_t`. */
  int32_t torch_role;
  /** Number of dimensions of `torch_shape`. */
  int torch_axes;
  /**
   * The dimensions in PyTorch's module, before those of `SYNCEDMEM_TORCH_TRANSPOSED_WEIGHT` are swapped; without such a
   * module `net_shape`.
   */
  const int64_t *torch_shape;
} syncedmem_blob_info_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Opens a model file, and writes the model's handle to `*model`. The file's name decides what it is, or else its
 * contents.
 *
 * Errors: `FILE` (also no regular file), `FORMAT`, `UNSUPPORTED` (HDF5, text, a compressed file; more layers and names
 * than a file of its size can have).
 */
syncedmem_status_t syncedmem_model_open(const char *path,
                                        struct syncedmem_model_t **model);

/** Closes a model and its file. */
syncedmem_status_t syncedmem_model_close(struct syncedmem_model_t *model);

/** Writes to `*info` what the file contains beside its layers. */
syncedmem_status_t syncedmem_model_info(const struct syncedmem_model_t *model,
                                        struct syncedmem_model_info_t *info);

/** Writes the number of layers to `*count`. */
syncedmem_status_t syncedmem_model_layer_count(const struct syncedmem_model_t *model, size_t *count);

/**
 * Writes a layer's name, its type as Caffe has named it since 2015, and its number of blobs. Layers are numbered from
 * 0, in the order of the file; two may have one name. Names are UTF-8: in this and all strings of a model, bytes that
 * are no UTF-8, NULs, and each `%` before two hexadecimal digits are percent-encoded (`%BE`), so that different names
 * stay different, and percent-decoding gives their bytes.
 */
syncedmem_status_t syncedmem_model_layer(const struct syncedmem_model_t *model,
                                         size_t layer,
                                         const char **name,
                                         const char **type_name,
                                         size_t *blobs);

/** Writes to `*info` what the file says about a blob. Blobs are numbered from 0: weights before biases. */
syncedmem_status_t syncedmem_model_blob_info(const struct syncedmem_model_t *model,
                                             size_t layer,
                                             size_t blob,
                                             struct syncedmem_blob_info_t *info);

/**
 * Reads a blob's values (`SYNCEDMEM_DATA`) or gradients (`SYNCEDMEM_DIFF`) into the host side of `mem`, which is
 * then the newest. `element_type` is a `syncedmem_type_t`: `SYNCEDMEM_FLOAT32`, `SYNCEDMEM_FLOAT64`, or the stored type, for
 * which nothing is converted or copied in between. Bytes of `mem` beyond the values stay as they are.
 *
 * After an error `mem` is as it was, except in one case: if the disk or the network fails, and the host side alone held
 * the newest data, part of that is overwritten.
 *
 * Errors: `INVALID_ARGUMENT` (also gradients that the file does not have; values that are not read as `element_type`;
 * `mem` is too small), `FORMAT` (the values do not fit the blob's shape), `UNSUPPORTED` (values of a type that is not
 * read), `FILE`.
 *
 * # Safety
 * No other thread uses the host side of `mem` during the call.
 */
syncedmem_status_t syncedmem_model_read_blob(const struct syncedmem_model_t *model,
                                             size_t layer,
                                             size_t blob,
                                             int32_t array,
                                             int32_t element_type,
                                             syncedmem_t *mem);

/**
 * Gives `blob` the shape, the data and, if any, the diff of a `.binaryproto` of one blob. Values are read as the
 * blob's element type. After an error `blob` is as it was, except in the case that `syncedmem_model_read_blob` names.
 *
 * Errors: `INVALID_ARGUMENT` (also a shape that no blob can have; a blob of integers), `FILE`, `FORMAT`, `UNSUPPORTED`
 * (the file holds something else: `syncedmem_model_open` reads it).
 *
 * # Safety
 * No other thread uses the blob's memory.
 */
syncedmem_status_t syncedmem_blob_read(syncedmem_blob_t *blob,
                                       const char *path);

/**
 * Writes the shape and the data of `blob`, and with `diff` its diff, to a `.binaryproto`. A file of the name stays
 * until the new one is whole and on the disk.
 *
 * Errors: `INVALID_STATE` (the blob has no shape), `UNSUPPORTED` (a blob of integers; more than Caffe can read, 2
 * GiB), `FILE`.
 *
 * # Safety
 * No other thread writes the blob's memory.
 */
syncedmem_status_t syncedmem_blob_write(const syncedmem_blob_t *blob,
                                        bool diff,
                                        const char *path);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SYNCEDMEM_MODEL_H */
