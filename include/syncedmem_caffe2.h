/*
 * Part of libsyncedmem. SPDX-License-Identifier: BSD-2-Clause
 * Generated from the Rust source by cbindgen. Do not edit.
 *
 * Caffe2's storage over the SyncedMemory of syncedmem.h: tensors, blobs of one value of any type, and workspaces of
 * named blobs. The rules are those of Caffe2 v0.8.1, without the faults that docs/caffe2.md lists.
 *
 * A syncedmem_tensor_t is dimensions, a type and memory on one side: the host's as TensorCPU, or the device's as
 * TensorCUDA. Memory comes with the first syncedmem_tensor_mutable_data, aligned to 64 bytes, on the host with zeros.
 * Tensors may share it.
 *
 * Ownership. Tensors, blobs and workspaces are reference-counted: a create, a retain and each function that writes a
 * handle add a reference, which a destroy drops; the last one frees. Pointers to data are valid until the
 * tensor gets other memory, or the blob another value.
 *
 * Threads. Any number of threads may use one workspace at once, and one blob, and call functions whose tensor is
 * const. A tensor is changed by one thread while no other uses it. Tensors that share memory may be used and destroyed
 * on different threads.
 *
 * Callbacks (a type's functions, deleters, visitors) are called without locks, on the thread of the call that needs
 * them. They neither throw nor leave by longjmp, nor use the tensor that the call changes. A callback may end other
 * tensors, blobs and workspaces, whose own callbacks may end others in turn, in chains of any length: each has ended
 * when its destroy returns, unless 16 ends are nested. Deeper ones end in order before the outermost returns. Tensors
 * within tensors are copied as deep; a copy of deeper ones gives INVALID_STATE.
 *
 * All else is as in syncedmem.h. After an error tensors, blobs and workspaces are as before; the items of a copy's
 * target may be old or new. An axis that does not exist gives INVALID_ARGUMENT. A destroyed handle is not detected.
 */

#ifndef SYNCEDMEM_CAFFE2_H
#define SYNCEDMEM_CAFFE2_H

#include "syncedmem.h"

/** The most dimensions of a tensor. */
#define SYNCEDMEM_TENSOR_MOST_DIMENSIONS 64

/** A tensor. */
typedef struct syncedmem_tensor_t syncedmem_tensor_t;

/** Caffe2's `Blob`. */
typedef struct syncedmem_typed_blob_t syncedmem_typed_blob_t;

/** Named blobs, over those of a parent. */
typedef struct syncedmem_workspace_t syncedmem_workspace_t;

/** Makes `count` items at `items`, or returns false and has made none. */
typedef bool (*syncedmem_construct_t)(void *items, size_t count);

/** Ends `count` items at `items`. */
typedef void (*syncedmem_destruct_t)(void *items, size_t count);

/**
 * Assigns `count` items at `source` to those at `target`, or returns false: each target then holds its old or its new
 * value.
 */
typedef bool (*syncedmem_copy_t)(const void *source, void *target, size_t count);

/**
 * The type of a tensor's items, or of a blob's value. Plain items, for which all bytes zero is a value and which are
 * copied as bytes, have no functions. The functions may be called on any thread; they neither throw nor use the tensor
 * or blob that calls them. This structure never grows.
 */
typedef struct syncedmem_typemeta_t {
  /** Identifies the type, such as the address of a static that only this type uses. NULL: no type. */
  const void *id;
  /** UTF-8, valid as long as anything has the type. */
  const char *name;
  /** Bytes of one item. */
  size_t itemsize;
  /** NULL: new items are bytes of zero. */
  syncedmem_construct_t construct;
  /** NULL: items need no end. */
  syncedmem_destruct_t destruct;
  /** NULL: items are copied as bytes, or not at all beside one of the other functions. */
  syncedmem_copy_t copy;
} syncedmem_typemeta_t;

/**
 * Frees the memory, or ends the blob's value, that was passed together with it. Called once, on any thread, without
 * locks.
 */
typedef void (*syncedmem_deleter_t)(void *pointer, void *context);

/** A tensor. This structure never grows. */
typedef struct syncedmem_tensor_info_t {
  /** The type; its `id` is NULL before the first mutable data. */
  struct syncedmem_typemeta_t meta;
  /** Valid until the dimensions change. */
  const int64_t *dims;
  /** A number that differs after each change of the dimensions. */
  uint64_t changes;
  /** Number of items; -1 without a shape. */
  int64_t size;
  /** Bytes of the items. */
  size_t nbytes;
  /** Bytes of the memory. */
  size_t capacity_nbytes;
  /** Number of dimensions. */
  int32_t ndim;
  /** A `syncedmem_side_t`. */
  int32_t side;
  /** Whether the memory came from another tensor or from the caller. */
  bool shares_data;
} syncedmem_tensor_info_t;

/**
 * Visits a blob of a workspace: its name there, its handle, valid during the call, and the bytes of its tensor's memory,
 * 0 if a blob visited before shares that memory.
 */
typedef void (*syncedmem_blob_visitor_t)(const char *name,
                                         struct syncedmem_typed_blob_t *blob,
                                         size_t bytes,
                                         void *context);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/** Writes the type of a `syncedmem_type_t` to `*meta`. */
syncedmem_status_t syncedmem_typemeta(int32_t element, struct syncedmem_typemeta_t *meta);

/**
 * Writes the `syncedmem_type_t` of a type to `*element`.
 *
 * Errors: `UNSUPPORTED` (it is no built-in type).
 */
syncedmem_status_t syncedmem_typemeta_element(const struct syncedmem_typemeta_t *meta, int32_t *element);

/**
 * Writes the type of a blob's value that is a tensor of that side to `*meta`. Such a value is the address of a
 * `syncedmem_tensor_t *`, which has a reference to the tensor; a caller may take that over, and leaves NULL.
 */
syncedmem_status_t syncedmem_tensor_typemeta(int32_t side,
                                             struct syncedmem_typemeta_t *meta);

/** Creates a tensor of a side (`syncedmem_side_t`) without shape, type and memory, and writes its handle to `*tensor`. */
syncedmem_status_t syncedmem_tensor_create(int32_t side,
                                           struct syncedmem_tensor_t **tensor);

/** Adds a reference to the tensor. */
syncedmem_status_t syncedmem_tensor_retain(struct syncedmem_tensor_t *tensor);

/** Drops a reference; the last one ends the tensor. */
syncedmem_status_t syncedmem_tensor_destroy(struct syncedmem_tensor_t *tensor);

/**
 * Gives the tensor other dimensions; without any it is a scalar, of one item. If the number of items changes, memory
 * is freed that is too small, or that `syncedmem_tensor_set_keep_on_shrink` does not keep; the next mutable data
 * allocates it.
 *
 * Errors: `INVALID_ARGUMENT` (also a negative dimension, too many items).
 */
syncedmem_status_t syncedmem_tensor_resize(struct syncedmem_tensor_t *tensor,
                                           int32_t ndim,
                                           const int64_t *dims);

/** Works as `syncedmem_tensor_resize`, with the dimensions of another tensor. */
syncedmem_status_t syncedmem_tensor_resize_like(struct syncedmem_tensor_t *tensor,
                                                const struct syncedmem_tensor_t *source);

/**
 * Gives the tensor other dimensions of as many items, which stay.
 *
 * Errors: as `syncedmem_tensor_resize`.
 */
syncedmem_status_t syncedmem_tensor_reshape(struct syncedmem_tensor_t *tensor,
                                            int32_t ndim,
                                            const int64_t *dims);

/**
 * Makes the first dimension smaller. Items that stay do not move.
 *
 * Errors: `INVALID_ARGUMENT` (also negative, more than there are), `INVALID_STATE` (no dimensions).
 */
syncedmem_status_t syncedmem_tensor_shrink(struct syncedmem_tensor_t *tensor, int64_t outer);

/**
 * Allocates memory for the items of those dimensions, and at least for those that the tensor has. Items and dimensions
 * stay, and a later resize frees the memory only if it is too small. Does nothing without a type.
 *
 * Errors: as `syncedmem_tensor_resize` and `syncedmem_tensor_copy_from`.
 */
syncedmem_status_t syncedmem_tensor_reserve(struct syncedmem_tensor_t *tensor,
                                            int32_t ndim,
                                            const int64_t *dims);

/**
 * Adds `more` to the first dimension. The items stay. Memory that is too small is replaced as by
 * `syncedmem_tensor_reserve`, for at least `growth_percent` more than the first dimension was.
 *
 * Errors: `INVALID_ARGUMENT` (also negative, too many items), `INVALID_STATE` (no dimensions), and as
 * `syncedmem_tensor_reserve`.
 */
syncedmem_status_t syncedmem_tensor_extend(struct syncedmem_tensor_t *tensor,
                                           int64_t more,
                                           double growth_percent);

/** Releases the memory; other tensors that share it keep it. Dimensions and type stay. */
syncedmem_status_t syncedmem_tensor_free_memory(struct syncedmem_tensor_t *tensor);

/** Exchanges two tensors of the same side, all but their handles. */
syncedmem_status_t syncedmem_tensor_swap(struct syncedmem_tensor_t *tensor, struct syncedmem_tensor_t *other);

/**
 * Sets for the process whether a resized tensor keeps more memory than it needs, and how many unused bytes at most. The
 * default is true, without a limit (`INT64_MAX`).
 */
syncedmem_status_t syncedmem_tensor_set_keep_on_shrink(bool keep,
                                                       int64_t most_unused_bytes);

/** Writes what `syncedmem_tensor_set_keep_on_shrink` has set. */
syncedmem_status_t syncedmem_tensor_get_keep_on_shrink(bool *keep, int64_t *most_unused_bytes);

/**
 * Attaches `pointer` to the tensor, unless something is attached, and writes what is attached to `*attached`. If that
 * is `pointer`, `deleter` (NULL: none) is called with it and `context` when the tensor ends; otherwise it stays the
 * caller's. With NULL for `pointer` nothing is attached, and NULL is written if nothing was. A binding keeps its one
 * object for a tensor there.
 */
syncedmem_status_t syncedmem_tensor_attach(const struct syncedmem_tensor_t *tensor,
                                           void *pointer,
                                           syncedmem_deleter_t deleter,
                                           void *context,
                                           void **attached);

/**
 * Writes the address of the items to `*data`, for reading; NULL for a tensor without items that never had memory. If
 * `meta` is not NULL, the tensor's type must be that one.
 *
 * Errors: `INVALID_STATE` (no shape, or no memory yet).
 */
syncedmem_status_t syncedmem_tensor_data(const struct syncedmem_tensor_t *tensor,
                                         const struct syncedmem_typemeta_t *meta,
                                         const void **data);

/**
 * Works as `syncedmem_tensor_data`, for reading and writing, as items of `meta`; NULL is the tensor's own type. Memory is
 * kept for the same type, and for another plain one if it is large enough. Otherwise it is new: the items are lost,
 * and new ones are constructed, or on the host zeros.
 *
 * Errors: `INVALID_ARGUMENT` (also items without bytes), `INVALID_STATE` (no shape, no type; the type's `construct`
 * returned false), `UNSUPPORTED` (a type with functions on the device).
 */
syncedmem_status_t syncedmem_tensor_mutable_data(struct syncedmem_tensor_t *tensor,
                                                 const struct syncedmem_typemeta_t *meta,
                                                 void **data);

/**
 * Writes the memory's `syncedmem_t` to `*mem`. It belongs to the tensors that share the memory: do not destroy or set
 * it, nor use it once they have ended or have other memory.
 *
 * Errors: `INVALID_STATE` (no memory), `UNSUPPORTED` (a type with functions).
 */
syncedmem_status_t syncedmem_tensor_memory(const struct syncedmem_tensor_t *tensor,
                                           syncedmem_t **mem);

/**
 * Gives the tensor the type, the dimensions and a copy of the items of another one, of either side.
 *
 * Errors: `INVALID_STATE` (the source has no shape, or no memory yet; a function of the type returned false),
 * `UNSUPPORTED` (the type's items cannot be copied, or not to the device), and as `syncedmem_tensor_mutable_data`.
 */
syncedmem_status_t syncedmem_tensor_copy_from(struct syncedmem_tensor_t *tensor,
                                              const struct syncedmem_tensor_t *source);

/**
 * Makes the tensor share the memory of another one of the same side and number of items, with its type, until a resize
 * beyond the memory or `syncedmem_tensor_free_memory`.
 *
 * Errors: `INVALID_STATE` (the source has items and no memory yet).
 */
syncedmem_status_t syncedmem_tensor_share_data(struct syncedmem_tensor_t *tensor,
                                               const struct syncedmem_tensor_t *source);

/**
 * Makes the tensor use the caller's memory at `pointer`, on the tensor's side, with items of `meta`. `capacity` is its
 * bytes; 0 for as many as the items need. `deleter` (NULL: none) is called with `pointer` and `context` once no tensor
 * uses the memory; not after an error.
 *
 * Errors: `INVALID_ARGUMENT` (also a capacity that is too small), `INVALID_STATE` (no items).
 *
 * # Safety
 * The memory stays readable and writable until the deleter is called; without one, while a tensor uses it.
 */
syncedmem_status_t syncedmem_tensor_share_external(struct syncedmem_tensor_t *tensor,
                                                   void *pointer,
                                                   const struct syncedmem_typemeta_t *meta,
                                                   size_t capacity,
                                                   syncedmem_deleter_t deleter,
                                                   void *context);

/**
 * Makes the tensor use the memory of a tensor of DLPack on its side, as `syncedmem_set_dlpack` borrows it, with items
 * of `meta`. The memory has the items' bytes. On success the library owns `dlpack`, and calls its deleter once no
 * tensor uses the memory.
 *
 * Errors: `INVALID_ARGUMENT` (also as `syncedmem_set_dlpack`), `INVALID_STATE` (no items).
 *
 * # Safety
 * `dlpack` describes its memory correctly.
 */
syncedmem_status_t syncedmem_tensor_share_dlpack(struct syncedmem_tensor_t *tensor,
                                                 const struct syncedmem_typemeta_t *meta,
                                                 void *dlpack,
                                                 bool versioned);

/** Writes to `*info` what the tensor is. */
syncedmem_status_t syncedmem_tensor_info(const struct syncedmem_tensor_t *tensor,
                                         struct syncedmem_tensor_info_t *info);

/** Writes to `*is` whether the tensor is of that type. */
syncedmem_status_t syncedmem_tensor_is_type(const struct syncedmem_tensor_t *tensor,
                                            const struct syncedmem_typemeta_t *meta,
                                            bool *is);

/** Writes the dimension of an axis, counted from 0, to `*dim`. */
syncedmem_status_t syncedmem_tensor_dim(const struct syncedmem_tensor_t *tensor, int32_t axis, int64_t *dim);

/**
 * Works as `syncedmem_tensor_dim`, in 32 bits.
 *
 * Errors: `INVALID_STATE` (the dimension is larger).
 */
syncedmem_status_t syncedmem_tensor_dim32(const struct syncedmem_tensor_t *tensor,
                                          int32_t axis,
                                          int32_t *dim);

/** Writes the product of the dimensions from `axis` on to `*size`; 1 for an axis after the last one. */
syncedmem_status_t syncedmem_tensor_size_from_dim(const struct syncedmem_tensor_t *tensor,
                                                  int32_t axis,
                                                  int64_t *size);

/** Writes the product of the dimensions before `axis` to `*size`. */
syncedmem_status_t syncedmem_tensor_size_to_dim(const struct syncedmem_tensor_t *tensor,
                                                int32_t axis,
                                                int64_t *size);

/** Writes the product of the dimensions between two axes in either order, without theirs, to `*size`. */
syncedmem_status_t syncedmem_tensor_size_between_dim(const struct syncedmem_tensor_t *tensor,
                                                     int32_t axis,
                                                     int32_t other,
                                                     int64_t *size);

/** Writes the number of an axis from the start to `*canonical`; a negative `axis` counts from the end. */
syncedmem_status_t syncedmem_tensor_canonical_axis_index(const struct syncedmem_tensor_t *tensor,
                                                         int32_t axis,
                                                         int32_t *canonical);

/** Writes a line about the tensor, as `syncedmem_report` writes its text. */
syncedmem_status_t syncedmem_tensor_debug_string(const struct syncedmem_tensor_t *tensor,
                                                 char *text,
                                                 size_t capacity,
                                                 size_t *length);

/** Creates an empty blob and writes its handle to `*blob`. */
syncedmem_status_t syncedmem_typed_blob_create(struct syncedmem_typed_blob_t **blob);

/** Adds a reference to the blob. */
syncedmem_status_t syncedmem_typed_blob_retain(struct syncedmem_typed_blob_t *blob);

/** Drops a reference; the last one ends the blob and its value. */
syncedmem_status_t syncedmem_typed_blob_destroy(struct syncedmem_typed_blob_t *blob);

/** Writes the type of the value to `*meta`; its `id` is NULL for an empty blob. */
syncedmem_status_t syncedmem_typed_blob_meta(const struct syncedmem_typed_blob_t *blob,
                                             struct syncedmem_typemeta_t *meta);

/** Writes to `*is` whether the value is of that type. */
syncedmem_status_t syncedmem_typed_blob_is_type(const struct syncedmem_typed_blob_t *blob,
                                                const struct syncedmem_typemeta_t *meta,
                                                bool *is);

/**
 * Writes the address of the value to `*value`. With `meta` the value must be of that type; without (NULL) the address
 * is NULL for an empty blob.
 */
syncedmem_status_t syncedmem_typed_blob_get(const struct syncedmem_typed_blob_t *blob,
                                            const struct syncedmem_typemeta_t *meta,
                                            void **value);

/**
 * Writes the address of a value of that type to `*value`. If the value has another type, the type makes a new one,
 * aligned to 64 bytes, and the old one ends. `is_new` may be NULL.
 *
 * Errors: `INVALID_ARGUMENT` (also no type), `INVALID_STATE` (the type's `construct` returned false).
 */
syncedmem_status_t syncedmem_typed_blob_get_mutable(struct syncedmem_typed_blob_t *blob,
                                                    const struct syncedmem_typemeta_t *meta,
                                                    bool *is_new,
                                                    void **value);

/**
 * Gives the blob a value of the caller's, and ends the old one. `deleter` is called with `value` and `context` at the
 * end; without one (NULL) the value stays the caller's. NULL for `value` and `meta` empties the blob.
 *
 * Errors: `INVALID_ARGUMENT` (also no type). Then the deleter is not called.
 *
 * # Safety
 * `value` is of that type, and lives until the deleter is called or the blob has another.
 */
syncedmem_status_t syncedmem_typed_blob_reset(struct syncedmem_typed_blob_t *blob,
                                              void *value,
                                              const struct syncedmem_typemeta_t *meta,
                                              syncedmem_deleter_t deleter,
                                              void *context);

/**
 * Makes the value the caller's, and writes its address to `*value`; NULL for an empty blob. `deleter` and `context`
 * may be NULL: they receive the function that ends the value (a `syncedmem_deleter_t`, or NULL) and its context. The
 * blob still refers to the value. One of `syncedmem_typed_blob_get_mutable` is ended by its type's `destruct`, then
 * `free()`.
 */
syncedmem_status_t syncedmem_typed_blob_release(struct syncedmem_typed_blob_t *blob,
                                                void **value,
                                                void **deleter,
                                                void **context);

/** Exchanges the values of two blobs. */
syncedmem_status_t syncedmem_typed_blob_swap(struct syncedmem_typed_blob_t *blob,
                                             struct syncedmem_typed_blob_t *other);

/**
 * Writes a handle of the tensor that is the value, of either side, to `*tensor`.
 *
 * Errors: `INVALID_ARGUMENT` (also another type, or no value), `INVALID_STATE` (NULL in its place).
 */
syncedmem_status_t syncedmem_typed_blob_get_tensor(const struct syncedmem_typed_blob_t *blob,
                                                   struct syncedmem_tensor_t **tensor);

/**
 * Works as `syncedmem_typed_blob_get_tensor`, for a tensor of that side (`syncedmem_side_t`). If the value is no such tensor,
 * the blob gets a new one, and the old value ends. `is_new` may be NULL.
 *
 * Errors: `INVALID_STATE` (no memory for the tensor; NULL in its place).
 */
syncedmem_status_t syncedmem_typed_blob_get_mutable_tensor(struct syncedmem_typed_blob_t *blob,
                                                           int32_t side,
                                                           bool *is_new,
                                                           struct syncedmem_tensor_t **tensor);

/** Makes a tensor the value: the blob has a reference to it, and the old value ends. */
syncedmem_status_t syncedmem_typed_blob_set_tensor(struct syncedmem_typed_blob_t *blob,
                                                   struct syncedmem_tensor_t *tensor);

/** Works as `syncedmem_tensor_attach`, for a blob. */
syncedmem_status_t syncedmem_typed_blob_attach(const struct syncedmem_typed_blob_t *blob,
                                               void *pointer,
                                               syncedmem_deleter_t deleter,
                                               void *context,
                                               void **attached);

/** Creates an empty workspace and writes its handle to `*workspace`. It has a reference to the parent, which may be NULL. */
syncedmem_status_t syncedmem_workspace_create(struct syncedmem_workspace_t *parent,
                                              struct syncedmem_workspace_t **workspace);

/** Adds a reference to the workspace. */
syncedmem_status_t syncedmem_workspace_retain(struct syncedmem_workspace_t *workspace);

/**
 * Drops a reference; the last one ends the workspace, but not blobs with other references. Workspaces that map each
 * other's blobs keep each other until the process ends.
 */
syncedmem_status_t syncedmem_workspace_destroy(struct syncedmem_workspace_t *workspace);

/**
 * Writes a handle of the blob of that name to `*blob`: this workspace's, a mapping's or a parent's, or else a new
 * empty one of this workspace.
 */
syncedmem_status_t syncedmem_workspace_create_blob(struct syncedmem_workspace_t *workspace,
                                                   const char *name,
                                                   struct syncedmem_typed_blob_t **blob);

/** Works as `syncedmem_workspace_create_blob`, but for this workspace itself: the blob hides a mapping's or a parent's. */
syncedmem_status_t syncedmem_workspace_create_local_blob(struct syncedmem_workspace_t *workspace,
                                                         const char *name,
                                                         struct syncedmem_typed_blob_t **blob);

/** Works as `syncedmem_workspace_create_blob`, but writes NULL if there is no such blob. */
syncedmem_status_t syncedmem_workspace_get_blob(const struct syncedmem_workspace_t *workspace,
                                                const char *name,
                                                struct syncedmem_typed_blob_t **blob);

/** Writes to `*has` whether `syncedmem_workspace_get_blob` finds a blob. */
syncedmem_status_t syncedmem_workspace_has_blob(const struct syncedmem_workspace_t *workspace,
                                                const char *name,
                                                bool *has);

/**
 * Removes a blob of this workspace itself, which other references keep, and writes to `*removed`, which may be NULL,
 * whether there was one.
 */
syncedmem_status_t syncedmem_workspace_remove_blob(struct syncedmem_workspace_t *workspace,
                                                   const char *name,
                                                   bool *removed);

/**
 * Gives a blob of this workspace itself a new name, and writes a handle of it to `*blob`, which may be NULL.
 *
 * Errors: `INVALID_ARGUMENT` (also no such blob, or a new name that is visible already).
 */
syncedmem_status_t syncedmem_workspace_rename_blob(struct syncedmem_workspace_t *workspace,
                                                   const char *name,
                                                   const char *new_name,
                                                   struct syncedmem_typed_blob_t **blob);

/**
 * Makes the blob `name` of another workspace visible here as `new_name`. This workspace has a reference to the
 * other one, where the name is looked up at each use. With `skip_defined` nothing is done if a blob is visible as `new_name` already.
 *
 * Errors: `INVALID_ARGUMENT` (also the same workspace, no such blob, or a new name that is visible already).
 */
syncedmem_status_t syncedmem_workspace_add_blob_mapping(struct syncedmem_workspace_t *workspace,
                                                        const char *new_name,
                                                        struct syncedmem_workspace_t *other,
                                                        const char *name,
                                                        bool skip_defined);

/**
 * Calls `visitor` with each visible blob, or, if `local`, with each of this workspace itself, sorted by name. The
 * visitor may use the workspace: the list was made before.
 */
syncedmem_status_t syncedmem_workspace_blobs(const struct syncedmem_workspace_t *workspace,
                                             bool local,
                                             syncedmem_blob_visitor_t visitor,
                                             void *context);

/**
 * Allocates `bytes` of host memory, zeros aligned to 64 bytes, and writes its address to `*data`. The account counts it
 * with the memory of tensors, with 64 bytes more. Free it with `syncedmem_cpu_delete`.
 */
syncedmem_status_t syncedmem_cpu_new(size_t bytes,
                                     void **data);

/** Frees memory of `syncedmem_cpu_new`. */
void syncedmem_cpu_delete(void *data);

/**
 * Switches Caffe2's report, off at first: a line on standard error for each block that a tensor allocates or frees,
 * with the bytes of all memory in the library's account, which is switched on too.
 */
syncedmem_status_t syncedmem_tensor_report_allocations(bool on);

/**
 * Reads an `init_net.pb` into tensors of the host, without an intermediate copy: each becomes the value of the blob of
 * its name, which is created where the workspace has none.
 *
 * Errors: `INVALID_ARGUMENT` (also another kind of file), `FILE`, `FORMAT`, `UNSUPPORTED` (a tensor of texts, or one
 * whose values are not in the file). Then no blob has another value, and new ones are empty.
 */
syncedmem_status_t syncedmem_workspace_load_init_net(struct syncedmem_workspace_t *workspace,
                                                     const char *path);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SYNCEDMEM_CAFFE2_H */
