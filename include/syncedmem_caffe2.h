/*
 * Part of libsyncedmem. SPDX-License-Identifier: BSD-2-Clause
 * Generated from the Rust source by cbindgen. Do not edit.
 *
 * Caffe2's storage over the SyncedMemory of syncedmem.h: tensors, blobs of one value of any type, and workspaces of
 * named blobs. The rules are those of Caffe2 v0.8.1, whose faults are mended where docs/caffe2.md says so.
 *
 * A syncedmem_tensor_t is dimensions, a type and memory on one side: of the host as TensorCPU, or of the device as
 * TensorCUDA. Memory comes with the first syncedmem_tensor_mutable_data, aligned to 64 bytes; on the host it is filled
 * with zeros. Tensors may share it. syncedmem_tensor_memory lends its syncedmem_t.
 *
 * Ownership. Tensors, blobs and workspaces are counted by their holders: a create, a retain and each function that
 * writes a handle make one more, which ends by a destroy; the last one frees. So a handle stays usable while it is
 * held. Pointers to data are valid until the tensor gets other memory, or the blob another value.
 *
 * Threads. Any number of threads may use one workspace at once, and one blob. A tensor is changed by one thread while
 * no other uses it; every function whose tensor is const may run on several threads at once. Tensors that share memory
 * may be used and destroyed on different threads.
 *
 * Callbacks (the functions of a type, deleters, visitors) are called with no lock held, on the thread of the call that
 * needs them. They do not throw, and do not use the tensor that the call changes.
 *
 * All else is as in syncedmem.h. After an error tensors, blobs and workspaces are as before; the items of a copy's
 * target may be old or new. An axis that the tensor does not have gives INVALID_ARGUMENT. A destroyed handle is not
 * detected.
 */

#ifndef SYNCEDMEM_CAFFE2_H
#define SYNCEDMEM_CAFFE2_H

#include "syncedmem.h"

/**
 * The number of dimensions that no tensor exceeds.
 */
#define SYNCEDMEM_TENSOR_MOST_DIMENSIONS 64

/**
 * A tensor: dimensions, a type, and memory on one side.
 */
typedef struct syncedmem_tensor_t syncedmem_tensor_t;

/**
 * A blob of one value of any type: Caffe2's `Blob`.
 */
typedef struct syncedmem_typed_blob_t syncedmem_typed_blob_t;

/**
 * Named blobs, over those of a parent.
 */
typedef struct syncedmem_workspace_t syncedmem_workspace_t;

/**
 * Makes `count` items at `items`. Returns false if it cannot: then it has made none.
 */
typedef bool (*syncedmem_construct_t)(void *items, size_t count);

/**
 * Ends `count` items at `items`.
 */
typedef void (*syncedmem_destruct_t)(void *items, size_t count);

/**
 * Assigns `count` items at `source` to those at `target`. Returns false if it cannot: then each item of the target holds its
 * old or its new value.
 */
typedef bool (*syncedmem_copy_t)(const void *source, void *target, size_t count);

/**
 * The type of items in a tensor, or of the value in a blob. Plain items, for which all bytes zero is a value and which are
 * copied as bytes, have no functions. The functions may be called on any thread; they neither throw nor use the tensor or
 * blob that calls them. This structure never grows.
 */
typedef struct syncedmem_typemeta_t {
  /**
   * The same for the same type, and for no other: such as the address of a static of the type's own. NULL: no type.
   */
  const void *id;
  /**
   * UTF-8, and valid as long as anything is of the type.
   */
  const char *name;
  /**
   * Bytes of one item.
   */
  size_t itemsize;
  /**
   * NULL: new items are bytes of zero.
   */
  syncedmem_construct_t construct;
  /**
   * NULL: items need no end.
   */
  syncedmem_destruct_t destruct;
  /**
   * NULL: items are copied as bytes, or cannot be copied if one of the other two functions is there.
   */
  syncedmem_copy_t copy;
} syncedmem_typemeta_t;

/**
 * Takes back what was lent or given with `context`: memory, or the value of a blob. Called once, on any thread, with no lock
 * held.
 */
typedef void (*syncedmem_deleter_t)(void *pointer, void *context);

/**
 * What a tensor is. This structure never grows.
 */
typedef struct syncedmem_tensor_info_t {
  /**
   * The type; its `id` is NULL before the first mutable data.
   */
  struct syncedmem_typemeta_t meta;
  /**
   * The dimensions, until they change.
   */
  const int64_t *dims;
  /**
   * Another number after each change of the dimensions, for a copy of them that is kept.
   */
  uint64_t changes;
  /**
   * The number of items; -1 without a shape.
   */
  int64_t size;
  /**
   * The bytes of the items.
   */
  size_t nbytes;
  /**
   * The bytes of the memory.
   */
  size_t capacity_nbytes;
  /**
   * The number of dimensions.
   */
  int32_t ndim;
  /**
   * The side of the memory: a `syncedmem_side_t`.
   */
  int32_t side;
  /**
   * Whether the present memory came from another tensor or from the caller.
   */
  bool shares_data;
} syncedmem_tensor_info_t;

/**
 * Visits a blob of a workspace: its name there, its handle, held during the call, and the bytes of its tensor's
 * memory, 0 where that belongs to a blob that was visited before.
 */
typedef void (*syncedmem_blob_visitor_t)(const char *name,
                                         struct syncedmem_typed_blob_t *blob,
                                         size_t bytes,
                                         void *context);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Writes the type of a `syncedmem_type_t` to `*meta`.
 */
syncedmem_status_t syncedmem_typemeta(int32_t element, struct syncedmem_typemeta_t *meta);

/**
 * Writes the `syncedmem_type_t` of a type to `*element`.
 *
 * Errors: `UNSUPPORTED` (it is no built-in type).
 */
syncedmem_status_t syncedmem_typemeta_element(const struct syncedmem_typemeta_t *meta, int32_t *element);

/**
 * Writes the type of a blob's value that is a tensor of that side to `*meta`. Such a value is the address of a
 * `syncedmem_tensor_t *`, which it holds.
 */
syncedmem_status_t syncedmem_tensor_typemeta(int32_t side,
                                             struct syncedmem_typemeta_t *meta);

/**
 * Creates a tensor of a side (`syncedmem_side_t`) without shape, type and memory, and writes its handle to `*tensor`.
 * End it with `syncedmem_tensor_destroy`.
 */
syncedmem_status_t syncedmem_tensor_create(int32_t side,
                                           struct syncedmem_tensor_t **tensor);

/**
 * Makes one more holder of the tensor.
 */
syncedmem_status_t syncedmem_tensor_retain(struct syncedmem_tensor_t *tensor);

/**
 * Ends one holder; the last one ends the tensor.
 */
syncedmem_status_t syncedmem_tensor_destroy(struct syncedmem_tensor_t *tensor);

/**
 * Gives the tensor other dimensions; of none it is a scalar, with one item. If the number of items changes, memory is
 * freed that is too small, or that `syncedmem_tensor_set_keep_on_shrink` does not keep; the next mutable data
 * allocates it.
 *
 * Errors: `INVALID_ARGUMENT` (also a negative dimension, too many items).
 */
syncedmem_status_t syncedmem_tensor_resize(struct syncedmem_tensor_t *tensor,
                                           int32_t ndim,
                                           const int64_t *dims);

/**
 * As `syncedmem_tensor_resize`, with the dimensions of another tensor.
 */
syncedmem_status_t syncedmem_tensor_resize_like(struct syncedmem_tensor_t *tensor,
                                                const struct syncedmem_tensor_t *source);

/**
 * Gives the tensor other dimensions of the same number of items. The items stay.
 *
 * Errors: as `syncedmem_tensor_resize`, and `INVALID_ARGUMENT` (another number of items).
 */
syncedmem_status_t syncedmem_tensor_reshape(struct syncedmem_tensor_t *tensor,
                                            int32_t ndim,
                                            const int64_t *dims);

/**
 * Makes the first dimension smaller. The memory and the items that stay do not move.
 *
 * Errors: `INVALID_ARGUMENT` (also negative, more than there are), `INVALID_STATE` (no dimensions).
 */
syncedmem_status_t syncedmem_tensor_shrink(struct syncedmem_tensor_t *tensor, int64_t outer);

/**
 * Makes room for as many items of the tensor's type as those dimensions have. Items and dimensions stay, and later the
 * memory is only freed where it is too small. Without a type nothing is done.
 *
 * Errors: as `syncedmem_tensor_resize`, and those of the allocation and the copy: see `syncedmem_tensor_copy_from`.
 */
syncedmem_status_t syncedmem_tensor_reserve(struct syncedmem_tensor_t *tensor,
                                            int32_t ndim,
                                            const int64_t *dims);

/**
 * Adds `more` to the first dimension. The items stay. If there is no room, it is made as by
 * `syncedmem_tensor_reserve`, for `growth_percent` more than there was.
 *
 * Errors: `INVALID_ARGUMENT` (also negative, too many items), `INVALID_STATE` (no dimensions), and as
 * `syncedmem_tensor_reserve`.
 */
syncedmem_status_t syncedmem_tensor_extend(struct syncedmem_tensor_t *tensor,
                                           int64_t more,
                                           double growth_percent);

/**
 * Gives the tensor's memory up; other tensors that share it keep it. Dimensions and type stay.
 */
syncedmem_status_t syncedmem_tensor_free_memory(struct syncedmem_tensor_t *tensor);

/**
 * Exchanges two tensors of the same side, all but their handles.
 *
 * Errors: `INVALID_ARGUMENT` (also different sides).
 */
syncedmem_status_t syncedmem_tensor_swap(struct syncedmem_tensor_t *tensor, struct syncedmem_tensor_t *other);

/**
 * Sets for the process whether a tensor with more memory than it needs keeps it when it is resized, and how many
 * unused bytes it keeps at most. At first that is true, without a limit (`INT64_MAX`).
 */
syncedmem_status_t syncedmem_tensor_set_keep_on_shrink(bool keep,
                                                       int64_t most_unused_bytes);

/**
 * Writes what `syncedmem_tensor_set_keep_on_shrink` has set.
 */
syncedmem_status_t syncedmem_tensor_get_keep_on_shrink(bool *keep, int64_t *most_unused_bytes);

/**
 * Writes the address of the items to `*data`, for reading. If `meta` is not NULL, the tensor's type must be that one.
 * The address is NULL for a tensor without items that never had memory.
 *
 * Errors: `INVALID_ARGUMENT` (also another type), `INVALID_STATE` (no shape, or no memory yet), and as
 * `syncedmem_cpu_data` or `syncedmem_gpu_data`.
 */
syncedmem_status_t syncedmem_tensor_data(const struct syncedmem_tensor_t *tensor,
                                         const struct syncedmem_typemeta_t *meta,
                                         const void **data);

/**
 * Writes the address of the items to `*data`, for reading and writing, as items of `meta`; NULL is the tensor's own
 * type. Memory is kept for the same type, and for another plain one if it is large enough. Otherwise it is new: the
 * items are lost, and new ones are constructed, or on the host zeros. The address is NULL for a tensor without items
 * that never had memory.
 *
 * Errors: `INVALID_ARGUMENT` (also items without bytes), `INVALID_STATE` (no shape, no type; the type's `construct`
 * returned false), `UNSUPPORTED` (a type with functions on the device), and as `syncedmem_mutable_cpu_data` or
 * `syncedmem_mutable_gpu_data`.
 */
syncedmem_status_t syncedmem_tensor_mutable_data(struct syncedmem_tensor_t *tensor,
                                                 const struct syncedmem_typemeta_t *meta,
                                                 void **data);

/**
 * Writes the handle of the memory's `syncedmem_t` to `*mem`: for access on both sides, `syncedmem_to_dlpack`, a name,
 * eviction. It belongs to the tensors that share the memory: it is neither destroyed nor set, nor used once they have
 * ended or have other memory.
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
 * Shares the memory of another tensor of the same side and number of items, and takes its type, until a resize beyond
 * the memory or `syncedmem_tensor_free_memory`.
 *
 * Errors: `INVALID_ARGUMENT` (also another side or number of items), `INVALID_STATE` (the source has items and no
 * memory yet).
 */
syncedmem_status_t syncedmem_tensor_share_data(struct syncedmem_tensor_t *tensor,
                                               const struct syncedmem_tensor_t *source);

/**
 * Makes the tensor use the caller's memory at `pointer`, on the tensor's side, with items of `meta`. `capacity` is its
 * size in bytes; 0 for as many as the tensor's items need. `deleter` (NULL: none) is called with `pointer` and
 * `context` once no tensor uses the memory; not after an error.
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
 * of `meta`. The memory has as many bytes as the tensor's items. On success the library owns `dlpack`, and calls its
 * deleter once no tensor uses the memory.
 *
 * Errors: `INVALID_ARGUMENT` (also another side, and as `syncedmem_set_dlpack`), `INVALID_STATE` (no items).
 *
 * # Safety
 * `dlpack` describes its memory correctly.
 */
syncedmem_status_t syncedmem_tensor_share_dlpack(struct syncedmem_tensor_t *tensor,
                                                 const struct syncedmem_typemeta_t *meta,
                                                 void *dlpack,
                                                 bool versioned);

/**
 * Writes to `*info` what the tensor is.
 */
syncedmem_status_t syncedmem_tensor_info(const struct syncedmem_tensor_t *tensor,
                                         struct syncedmem_tensor_info_t *info);

/**
 * Writes to `*is` whether the tensor's type is that one.
 */
syncedmem_status_t syncedmem_tensor_is_type(const struct syncedmem_tensor_t *tensor,
                                            const struct syncedmem_typemeta_t *meta,
                                            bool *is);

/**
 * Writes the dimension of an axis, counted from 0, to `*dim`.
 */
syncedmem_status_t syncedmem_tensor_dim(const struct syncedmem_tensor_t *tensor, int32_t axis, int64_t *dim);

/**
 * Writes a dimension to `*dim`, if it is at most `INT32_MAX`.
 *
 * Errors: `INVALID_STATE` (the dimension is larger).
 */
syncedmem_status_t syncedmem_tensor_dim32(const struct syncedmem_tensor_t *tensor,
                                          int32_t axis,
                                          int32_t *dim);

/**
 * Writes the product of the dimensions from `axis` on to `*size`: 1 from behind the last one on.
 *
 * Errors: `INVALID_ARGUMENT` (also a negative axis).
 */
syncedmem_status_t syncedmem_tensor_size_from_dim(const struct syncedmem_tensor_t *tensor,
                                                  int32_t axis,
                                                  int64_t *size);

/**
 * Writes the product of the dimensions before `axis` to `*size`.
 */
syncedmem_status_t syncedmem_tensor_size_to_dim(const struct syncedmem_tensor_t *tensor,
                                                int32_t axis,
                                                int64_t *size);

/**
 * Writes the product of the dimensions between two axes, without theirs and in either order, to `*size`.
 */
syncedmem_status_t syncedmem_tensor_size_between_dim(const struct syncedmem_tensor_t *tensor,
                                                     int32_t axis,
                                                     int32_t other,
                                                     int64_t *size);

/**
 * Writes the number of an axis from the start to `*canonical`, where a negative one counts from the end.
 */
syncedmem_status_t syncedmem_tensor_canonical_axis_index(const struct syncedmem_tensor_t *tensor,
                                                         int32_t axis,
                                                         int32_t *canonical);

/**
 * Writes a line about the tensor for people, as `syncedmem_report` writes its text.
 */
syncedmem_status_t syncedmem_tensor_debug_string(const struct syncedmem_tensor_t *tensor,
                                                 char *text,
                                                 size_t capacity,
                                                 size_t *length);

/**
 * Creates an empty blob and writes its handle to `*blob`. End it with `syncedmem_typed_blob_destroy`.
 */
syncedmem_status_t syncedmem_typed_blob_create(struct syncedmem_typed_blob_t **blob);

/**
 * Makes one more holder of the blob.
 */
syncedmem_status_t syncedmem_typed_blob_retain(struct syncedmem_typed_blob_t *blob);

/**
 * Ends one holder; the last one ends the blob and its value.
 */
syncedmem_status_t syncedmem_typed_blob_destroy(struct syncedmem_typed_blob_t *blob);

/**
 * Writes the type of the value to `*meta`; its `id` is NULL for an empty blob.
 */
syncedmem_status_t syncedmem_typed_blob_meta(const struct syncedmem_typed_blob_t *blob,
                                             struct syncedmem_typemeta_t *meta);

/**
 * Writes to `*is` whether the value is of that type.
 */
syncedmem_status_t syncedmem_typed_blob_is_type(const struct syncedmem_typed_blob_t *blob,
                                                const struct syncedmem_typemeta_t *meta,
                                                bool *is);

/**
 * Writes the address of the value to `*value`. If `meta` is not NULL, the value must be of that type; otherwise the
 * address is NULL for an empty blob.
 *
 * Errors: `INVALID_ARGUMENT` (also another type, or no value).
 */
syncedmem_status_t syncedmem_typed_blob_get(const struct syncedmem_typed_blob_t *blob,
                                            const struct syncedmem_typemeta_t *meta,
                                            void **value);

/**
 * Writes the address of a value of that type to `*value`. Unless there is one, the blob gets a new one, as the type
 * makes it, aligned to 64 bytes, and the old one ends. `is_new` may be NULL.
 *
 * Errors: `INVALID_ARGUMENT` (also no type), `INVALID_STATE` (the type's `construct` returned false).
 */
syncedmem_status_t syncedmem_typed_blob_get_mutable(struct syncedmem_typed_blob_t *blob,
                                                    const struct syncedmem_typemeta_t *meta,
                                                    bool *is_new,
                                                    void **value);

/**
 * Gives the blob a value of the caller's, and ends the old one. `deleter` is called with `value` and `context` at the
 * new one's end; without one (NULL) the value stays the caller's. With `value` and `meta` NULL the blob is empty
 * afterwards.
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
 * may be NULL: they receive the function that ends the value (a `syncedmem_deleter_t`; NULL for a value without one)
 * and its context. The blob still refers to the value. One of `syncedmem_typed_blob_get_mutable` is ended by its
 * type's `destruct`, then `free()`.
 */
syncedmem_status_t syncedmem_typed_blob_release(struct syncedmem_typed_blob_t *blob,
                                                void **value,
                                                void **deleter,
                                                void **context);

/**
 * Exchanges the values of two blobs.
 */
syncedmem_status_t syncedmem_typed_blob_swap(struct syncedmem_typed_blob_t *blob,
                                             struct syncedmem_typed_blob_t *other);

/**
 * Writes a handle of the tensor that is the value, of either side, to `*tensor`: one more holder. End it with
 * `syncedmem_tensor_destroy`.
 *
 * Errors: `INVALID_ARGUMENT` (also another type, or no value).
 */
syncedmem_status_t syncedmem_typed_blob_get_tensor(const struct syncedmem_typed_blob_t *blob,
                                                   struct syncedmem_tensor_t **tensor);

/**
 * As `syncedmem_typed_blob_get_tensor`, of a tensor of that side (`syncedmem_side_t`). Unless the value is one, the
 * blob gets a new one, and the old value ends. `is_new` may be NULL.
 *
 * Errors: `INVALID_STATE` (no memory for the tensor).
 */
syncedmem_status_t syncedmem_typed_blob_get_mutable_tensor(struct syncedmem_typed_blob_t *blob,
                                                           int32_t side,
                                                           bool *is_new,
                                                           struct syncedmem_tensor_t **tensor);

/**
 * Makes a tensor the value, which the blob then holds too, and ends the old one.
 */
syncedmem_status_t syncedmem_typed_blob_set_tensor(struct syncedmem_typed_blob_t *blob,
                                                   struct syncedmem_tensor_t *tensor);

/**
 * Creates an empty workspace and writes its handle to `*workspace`. It holds the parent, which may be NULL. End it
 * with `syncedmem_workspace_destroy`.
 */
syncedmem_status_t syncedmem_workspace_create(struct syncedmem_workspace_t *parent,
                                              struct syncedmem_workspace_t **workspace);

/**
 * Makes one more holder of the workspace.
 */
syncedmem_status_t syncedmem_workspace_retain(struct syncedmem_workspace_t *workspace);

/**
 * Ends one holder; the last one ends the workspace, but not blobs that are held elsewhere.
 * Workspaces that map each other's blobs hold each other until the process ends.
 */
syncedmem_status_t syncedmem_workspace_destroy(struct syncedmem_workspace_t *workspace);

/**
 * Writes a handle of the blob of that name to `*blob`: that of this workspace, of a mapping or of a parent, or else a
 * new empty one of this workspace. End it with `syncedmem_typed_blob_destroy`.
 */
syncedmem_status_t syncedmem_workspace_create_blob(struct syncedmem_workspace_t *workspace,
                                                   const char *name,
                                                   struct syncedmem_typed_blob_t **blob);

/**
 * As `syncedmem_workspace_create_blob`, of a blob of this workspace itself: it hides one of a mapping or a parent.
 */
syncedmem_status_t syncedmem_workspace_create_local_blob(struct syncedmem_workspace_t *workspace,
                                                         const char *name,
                                                         struct syncedmem_typed_blob_t **blob);

/**
 * As `syncedmem_workspace_create_blob`, but writes NULL if there is no blob of that name.
 */
syncedmem_status_t syncedmem_workspace_get_blob(const struct syncedmem_workspace_t *workspace,
                                                const char *name,
                                                struct syncedmem_typed_blob_t **blob);

/**
 * Writes to `*has` whether there is a blob of that name: of this workspace, of a mapping or of a parent.
 */
syncedmem_status_t syncedmem_workspace_has_blob(const struct syncedmem_workspace_t *workspace,
                                                const char *name,
                                                bool *has);

/**
 * Removes a blob of this workspace itself, and writes to `*removed`, which may be NULL, whether there was one. Other
 * holders keep it.
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
 * Makes the blob `name` of another workspace visible in this one as `new_name`. This workspace holds the other one,
 * and the name is looked up there at each use. With `skip_defined` nothing is done if a blob is visible as `new_name`
 * already.
 *
 * Errors: `INVALID_ARGUMENT` (also the same workspace, no such blob, or a new name that is visible already).
 */
syncedmem_status_t syncedmem_workspace_add_blob_mapping(struct syncedmem_workspace_t *workspace,
                                                        const char *new_name,
                                                        struct syncedmem_workspace_t *other,
                                                        const char *name,
                                                        bool skip_defined);

/**
 * Calls `visitor` with each blob of this workspace itself, or, unless `local`, with each that is visible in it, sorted
 * by name. The bytes of all calls add up to the memory of the tensors. The visitor may use the workspace: the list was
 * made before.
 */
syncedmem_status_t syncedmem_workspace_blobs(const struct syncedmem_workspace_t *workspace,
                                             bool local,
                                             syncedmem_blob_visitor_t visitor,
                                             void *context);

/**
 * Attaches `pointer` to the tensor, unless something is attached, and writes what is attached to `*attached`. If that
 * is `pointer`, the library calls `deleter` (NULL: none) with it and `context` when the tensor ends; otherwise it
 * stays the caller's. NULL for `pointer` only asks, and writes NULL if nothing is attached. Any thread that may read
 * the tensor may call this. A binding keeps its one object for a tensor there, as `syncedmem/caffe2.hpp` does.
 */
syncedmem_status_t syncedmem_tensor_attach(const struct syncedmem_tensor_t *tensor,
                                           void *pointer,
                                           syncedmem_deleter_t deleter,
                                           void *context,
                                           void **attached);

/**
 * As `syncedmem_tensor_attach`, for a blob.
 */
syncedmem_status_t syncedmem_typed_blob_attach(const struct syncedmem_typed_blob_t *blob,
                                               void *pointer,
                                               syncedmem_deleter_t deleter,
                                               void *context,
                                               void **attached);

/**
 * Allocates `bytes` of host memory, filled with zeros and aligned to 64 bytes, and writes its address to `*data`. It
 * is counted with the memory of tensors, with 64 bytes more. End it with `syncedmem_cpu_delete`.
 */
syncedmem_status_t syncedmem_cpu_new(size_t bytes,
                                     void **data);

/**
 * Frees memory of `syncedmem_cpu_new`.
 */
void syncedmem_cpu_delete(void *data);

/**
 * Switches Caffe2's report, off at first: a line on standard error for each block that a tensor allocates, and one
 * when it is freed, with the bytes of all memory in the library's account, which is switched on too.
 */
syncedmem_status_t syncedmem_tensor_report_allocations(bool on);

/**
 * Reads an `init_net.pb` into tensors of the host, without a copy in between: each becomes the value of the blob of
 * its name, which is created where the workspace has none. The values that such blobs had end.
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
