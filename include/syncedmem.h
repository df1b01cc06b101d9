/*
 * libsyncedmem: Caffe's SyncedMemory as a library. SPDX-License-Identifier: BSD-2-Clause
 * Generated from the Rust source by cbindgen. Do not edit.
 *
 * A syncedmem_t is a buffer with a host side (CPU) and a device side (GPU). Each side is allocated at its first access,
 * and copied only when the other side is newer. A handle is the address of the object, and every caffe::SyncedMemory is
 * one: both ABIs work on the same objects. Sizes are in bytes.
 *
 * Ownership. syncedmem_create pairs with syncedmem_destroy, syncedmem_construct with syncedmem_destruct, a C++ new with
 * delete. Functions that destroy, close or free allow NULL, for which they do nothing; syncedmem_destruct does not.
 * A handle is not used after the call that ends its object. Pointers to data belong to the object, and are not used
 * after a call that ends it, or that releases or replaces that side's memory. Memory given with
 * syncedmem_set_cpu_data or syncedmem_set_gpu_data stays the caller's and is never freed.
 *
 * Pointers. Unless a function says otherwise, a NULL or misaligned argument gives SYNCEDMEM_ERROR_INVALID_ARGUMENT. The
 * library relies on the rest: a handle is that of an object, a pointer for a result is writable, a string ends with
 * NUL, an array has as many items as its count says (NULL is allowed for none), and a structure as many bytes as its
 * member size says. The context of a callback is passed on unchanged. A CUDA stream may be NULL, the legacy default
 * stream; it is used only during the call, and may be destroyed after it.
 *
 * Errors. Functions that return a syncedmem_status_t write results only on success. After an error the object is as it
 * was, except that a copy in flight may have ended: the head is then SYNCED after a pull, and HEAD_AT_CPU after a push
 * that failed. syncedmem_last_error() says what was asked, what is wrong and what to do. No function of this header
 * ends the process or throws.
 * Each function lists its particular errors. Beside them, any function may give INVALID_ARGUMENT (also for an unknown
 * number of an enumeration) and, where it allocates, OUT_OF_MEMORY; one with a handle INVALID_HANDLE, REENTERED and,
 * with the device check on, WRONG_DEVICE; one that uses the device, or waits for a copy in flight, NO_GPU, DRIVER and
 * PENDING.
 * Detected: NULL, misalignment, storage that is too small, unknown numbers, impossible sizes, and use of an ended
 * object until its bytes are reused (with the feature "checked" the library never reuses those of syncedmem_create).
 * Not detected: wrong addresses, and memory given to syncedmem_set_cpu_data that is too small or gone.
 *
 * Threads. Any number of threads may call syncedmem_cpu_data, syncedmem_gpu_data, syncedmem_to_dlpack for reading,
 * syncedmem_exports, syncedmem_head and syncedmem_size on one object at once. One of them allocates, fills and copies,
 * the others wait for it; up to 64 KiB several may allocate at their first access, and all but one block are freed.
 * During any other call no other thread uses the object. Different objects are independent. Settings may be changed at any time.
 *
 * Signals. A signal handler may access data that is already current, unless the device check is on, tensors of the
 * object are in use, or a copy of it is in flight: these may need a lock of a thread that waits for the interrupted one.
 * (If the interrupted thread itself holds it, the call gives SYNCEDMEM_ERROR_REENTERED.) While every access is counted or
 * traced, object and thread must have been used outside of handlers before. Do not fork in a handler: it hangs if it has
 * interrupted this library.
 *
 * Stacks. A 16 KiB stack, the smallest of POSIX threads on Linux, is enough for every call. A report needs 24 KiB:
 * syncedmem_report, and a C++ failure that ends the process. Add what the CUDA driver and the program's callbacks need.
 * A signal stack (sigaltstack) needs as much, and a library built without optimisation twice as much.
 *
 * GPU. The CUDA driver is loaded when it is first needed; syncedmem_cuda_status() says whether there is one. Without it
 * the host side works, and device calls give SYNCEDMEM_ERROR_NO_GPU. The calling thread's current context stays
 * current. A new device block is made in that context; if there is none, on the device that the process's CUDA runtime
 * has chosen, else on device 0. A block is freed in its own context, on any thread. Copies and fills are ordered as
 * cudaMemcpy and cudaMemset on the legacy default stream. Data that is current is returned without a driver call.
 *
 * Copies in flight. After syncedmem_async_gpu_push and syncedmem_async_cpu_pull a side that is current may be read at
 * once. Calls that would disturb the copy (such as syncedmem_mutable_cpu_data, setting or releasing a side, ending the
 * object) wait for it; syncedmem_wait completes it. Only copies of page-locked host memory run in the background.
 *
 * Graphs. A stream that is being captured into a CUDA graph gives SYNCEDMEM_ERROR_INVALID_ARGUMENT, and so does the
 * legacy default stream while a blocking stream of its context is captured; object and capture are as before.
 * Allocations, frees and waits of the library leave captures alone (they run in the relaxed capture mode). Copies and
 * fills that an access needs are those of cudaMemcpy and cudaMemset: where the driver refuses them (on the capturing
 * thread, on every thread during a global capture, or beside a blocking stream), the access gives
 * SYNCEDMEM_ERROR_DRIVER, and the driver invalidates the capture, as with Caffe's own. Copy data before the capture
 * begins.
 * One wait of the library may also invalidate a capture: for a context, before an idle block is reused or given back.
 * The driver does not report captures on non-blocking streams that the library was never given. Once the library has
 * seen a capture, it does not wait for contexts any more. Without pools there is no such wait.
 *
 * Devices. A function waits only for the device of a block that it frees or copies: work on another device may be
 * waiting for work that the calling thread is about to start. Only syncedmem_trim and smaller budgets wait for the
 * contexts of all blocks that they give back.
 *
 * Full memory. If there is no memory for a block, the library gives back idle blocks and tries again. Objects keep both
 * sides.
 *
 * Exchange. syncedmem_to_dlpack makes a tensor of a side's memory, for NumPy, PyTorch and other libraries that know
 * DLPack; syncedmem_set_dlpack makes an object borrow the memory of a tensor. Nothing is copied. A tensor keeps its
 * memory in place until its deleter is called, on any thread.
 *
 * Fork. The child may use every object: host data stays, and an object that another thread was filling is as it was
 * before. If the parent has used CUDA, device calls in the child give SYNCEDMEM_ERROR_NO_GPU, and the parent's device
 * memory is not freed there. The driver may share page-locked memory with the child instead of copying it on write:
 * copy it before changing it.
 *
 * Exit. Objects need not be destroyed before the process ends. Destroying them late is allowed in any order, and leaves
 * device memory to the system.
 */

#ifndef SYNCEDMEM_H
#define SYNCEDMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The major version of this header. */
#define SYNCEDMEM_VERSION_MAJOR 0

/** The minor version of this header. */
#define SYNCEDMEM_VERSION_MINOR 1

/** The patch version of this header. */
#define SYNCEDMEM_VERSION_PATCH 0

/** Minimum size of the storage for `syncedmem_construct`, in bytes. */
#define SYNCEDMEM_STORAGE_BYTES 32

/** Minimum alignment of that storage, in bytes. */
#define SYNCEDMEM_STORAGE_ALIGNMENT 8

/** Maximum length of an object's name, in bytes. */
#define SYNCEDMEM_NAME_BYTES 200

/** The outcome of a call. Later versions add numbers, and never change or reuse one. */
enum syncedmem_status_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** Done. */
  SYNCEDMEM_SUCCESS = 0,
  /** An argument cannot be used: NULL, misaligned, too small, or an unknown number. */
  SYNCEDMEM_ERROR_INVALID_ARGUMENT = 1,
  /** The handle is not that of a live object. */
  SYNCEDMEM_ERROR_INVALID_HANDLE = 2,
  /** Host or device memory ran out, or the size is impossible. */
  SYNCEDMEM_ERROR_OUT_OF_MEMORY = 3,
  /** No GPU can be used; the message says why. */
  SYNCEDMEM_ERROR_NO_GPU = 4,
  /** The object's head does not allow the call. */
  SYNCEDMEM_ERROR_INVALID_STATE = 5,
  /**
   * The calling thread is inside an operation on the same object, or a signal handler has interrupted it at a lock
   * that the call needs.
   */
  SYNCEDMEM_ERROR_REENTERED = 6,
  /** A bug of the library. */
  SYNCEDMEM_ERROR_INTERNAL = 7,
  /** A call of the CUDA driver failed; the message names the call and its status. */
  SYNCEDMEM_ERROR_DRIVER = 8,
  /** A driver call returned the error of an earlier kernel or copy of this process. */
  SYNCEDMEM_ERROR_PENDING = 9,
  /** The device check is on, and the current device is not the one that holds the data. */
  SYNCEDMEM_ERROR_WRONG_DEVICE = 10,
  /** A file cannot be opened, read or written. */
  SYNCEDMEM_ERROR_FILE = 11,
  /** The call would take away memory that tensors use. */
  SYNCEDMEM_ERROR_EXPORTED = 12,
  /** The file is damaged, cut off, or of another format. */
  SYNCEDMEM_ERROR_FORMAT = 13,
  /** This library does not do it; the message says what does. */
  SYNCEDMEM_ERROR_UNSUPPORTED = 14,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_status_t syncedmem_status_t;
#else
typedef int32_t syncedmem_status_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** Where the newest data is. The numbers are those of `caffe::SyncedMemory::SyncedHead`. */
enum syncedmem_head_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** Neither side was accessed. */
  SYNCEDMEM_UNINITIALIZED = 0,
  /** The host is newer. */
  SYNCEDMEM_HEAD_AT_CPU = 1,
  /** The device is newer. */
  SYNCEDMEM_HEAD_AT_GPU = 2,
  /** Both sides hold the same data. */
  SYNCEDMEM_SYNCED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_head_t syncedmem_head_t;
#else
typedef int32_t syncedmem_head_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** The mode assumed for `Caffe::mode()`. */
enum syncedmem_mode_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** The mode of the Caffe in the process. */
  SYNCEDMEM_MODE_AUTO = 0,
  /** CPU mode. */
  SYNCEDMEM_MODE_CPU = 1,
  /** GPU mode. */
  SYNCEDMEM_MODE_GPU = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_mode_t syncedmem_mode_t;
#else
typedef int32_t syncedmem_mode_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** When host memory is page-locked, if it can be. */
enum syncedmem_pinning_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** Page-locked in GPU mode. */
  SYNCEDMEM_PIN_AUTO = 0,
  /** Page-locked always. */
  SYNCEDMEM_PIN_ALWAYS = 1,
  /** Page-locked never. */
  SYNCEDMEM_PIN_NEVER = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_pinning_t syncedmem_pinning_t;
#else
typedef int32_t syncedmem_pinning_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** What a failed C++ entry point does after its report. */
enum syncedmem_error_policy_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** `abort()`, as Caffe did. */
  SYNCEDMEM_ON_ERROR_ABORT = 0,
  /**
   * Throws `std::bad_alloc` if memory ran out, else `std::runtime_error`, of the caller's C++ runtime (libstdc++ or
   * libc++). A statically linked one is found only if it is exported (`-rdynamic`). Without one the process aborts:
   * throw from `syncedmem_set_error_callback` instead.
   */
  SYNCEDMEM_ON_ERROR_THROW = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_error_policy_t syncedmem_error_policy_t;
#else
typedef int32_t syncedmem_error_policy_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** What is accounted for. */
enum syncedmem_accounting_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** Nothing, at no cost. */
  SYNCEDMEM_ACCOUNTING_OFF = 0,
  /** Objects, blocks, fills and copies. */
  SYNCEDMEM_ACCOUNTING_ON = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_accounting_t syncedmem_accounting_t;
#else
typedef int32_t syncedmem_accounting_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** A side of an object. */
enum syncedmem_side_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** Memory of the CPU. */
  SYNCEDMEM_HOST = 0,
  /** Memory of the GPU. */
  SYNCEDMEM_DEVICE = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_side_t syncedmem_side_t;
#else
typedef int32_t syncedmem_side_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** What an access does with the data of a side. */
enum syncedmem_access_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** Reads it, as `syncedmem_cpu_data`. */
  SYNCEDMEM_READ = 0,
  /** Reads and writes it, as `syncedmem_mutable_cpu_data`. */
  SYNCEDMEM_WRITE = 1,
  /** Writes all of it and reads nothing, as `syncedmem_overwrite_cpu_data`. */
  SYNCEDMEM_OVERWRITE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_access_t syncedmem_access_t;
#else
typedef int32_t syncedmem_access_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** A kind of memory. */
enum syncedmem_memory_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** Pageable host memory. */
  SYNCEDMEM_MEMORY_PAGEABLE = 0,
  /** Page-locked host memory. */
  SYNCEDMEM_MEMORY_PINNED = 1,
  /** Device memory. */
  SYNCEDMEM_MEMORY_DEVICE = 2,
  /** All three. */
  SYNCEDMEM_MEMORY_ALL = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_memory_t syncedmem_memory_t;
#else
typedef int32_t syncedmem_memory_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** The type of the elements of a blob, a tensor, or an array in a model file. */
enum syncedmem_type_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** IEEE 754 binary32: `float`. */
  SYNCEDMEM_FLOAT32 = 0,
  /** IEEE 754 binary64: `double`. */
  SYNCEDMEM_FLOAT64 = 1,
  /** IEEE 754 binary16. */
  SYNCEDMEM_FLOAT16 = 2,
  /** `int8_t`. */
  SYNCEDMEM_INT8 = 3,
  /** `uint8_t`. */
  SYNCEDMEM_UINT8 = 4,
  /** `int16_t`. */
  SYNCEDMEM_INT16 = 5,
  /** `uint16_t`. */
  SYNCEDMEM_UINT16 = 6,
  /** `int32_t`. */
  SYNCEDMEM_INT32 = 7,
  /** `uint32_t`. */
  SYNCEDMEM_UINT32 = 8,
  /** `int64_t`. */
  SYNCEDMEM_INT64 = 9,
  /** One byte, 0 or 1. */
  SYNCEDMEM_BOOL = 10,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_type_t syncedmem_type_t;
#else
typedef int32_t syncedmem_type_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** One of a blob's two arrays. */
enum syncedmem_array_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** The values. */
  SYNCEDMEM_DATA = 0,
  /** Their gradients. */
  SYNCEDMEM_DIFF = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_array_t syncedmem_array_t;
#else
typedef int32_t syncedmem_array_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** What `CUstream` and `cudaStream_t` point to. */
typedef struct CUstream_st CUstream_st;

/** A `caffe::SyncedMemory`. */
typedef struct syncedmem_t syncedmem_t;

/** Returns `Caffe::mode()` on the calling thread, 0 for CPU, 1 for GPU: see `syncedmem_set_mode_callback`. */
typedef int (*syncedmem_mode_callback_t)(void *user);

/** See `syncedmem_set_error_callback`. */
typedef void (*syncedmem_error_callback_t)(syncedmem_status_t status, const char *message, void *user);

/** Operations, their bytes and time. This structure never grows. */
typedef struct syncedmem_sum_t {
  /** Number of operations. */
  uint64_t count;
  /** Bytes in all. */
  uint64_t bytes;
  /** Nanoseconds in all; 0 where time is not measured. */
  uint64_t nanoseconds;
} syncedmem_sum_t;

/** One kind of memory, in bytes. This structure never grows. */
typedef struct syncedmem_memory_stats_t {
  /** Held by objects now. Without accounting, pageable blocks of up to 4 KiB are missing. */
  uint64_t live;
  /** Maximum of `live` since accounting began, or since `syncedmem_reset_peaks`. */
  uint64_t peak;
  /** Kept idle for later objects. */
  uint64_t idle;
  /** Maximum that may be idle. */
  uint64_t budget;
  /** Blocks from the system or the driver. */
  struct syncedmem_sum_t allocations;
  /** Blocks from the pool. */
  struct syncedmem_sum_t pool_hits;
  /** Blocks that objects gave back. */
  struct syncedmem_sum_t frees;
} syncedmem_memory_stats_t;

/** The account. Later versions add members at the end. */
typedef struct syncedmem_stats_t {
  /** `sizeof(syncedmem_stats_t)` before the call, then the bytes written. */
  size_t size;
  /** Pageable host memory. */
  struct syncedmem_memory_stats_t pageable;
  /** Page-locked host memory. */
  struct syncedmem_memory_stats_t pinned;
  /** Device memory. */
  struct syncedmem_memory_stats_t device;
  /** Copies from page-locked memory to the device. The time of a push is that of its call. */
  struct syncedmem_sum_t to_device_pinned;
  /** Copies from pageable memory to the device. */
  struct syncedmem_sum_t to_device_pageable;
  /** Copies from the device to page-locked memory. The time of a pull is that of its call. */
  struct syncedmem_sum_t to_host_pinned;
  /** Copies from the device to pageable memory. */
  struct syncedmem_sum_t to_host_pageable;
  /** Host sides filled with zeros. Fresh pages of the system take no time. */
  struct syncedmem_sum_t host_fills;
  /** Device sides filled with zeros. */
  struct syncedmem_sum_t device_fills;
  /** Waits for copies in flight. */
  struct syncedmem_sum_t waits;
  /** Contexts synchronized before a block was reused. */
  struct syncedmem_sum_t synchronises;
  /** Failed host allocations. */
  struct syncedmem_sum_t host_failures;
  /** Failed device allocations. */
  struct syncedmem_sum_t device_failures;
  /** Objects made, but for those whose constructor is inlined into the program. */
  uint64_t objects_made;
  /** Objects ended. */
  uint64_t objects_ended;
  /** Accesses to the host for reading that allocated, filled or copied. */
  uint64_t host_reads;
  /** Accesses to the host for reading and writing that allocated, filled or copied. */
  uint64_t host_writes;
  /** Accesses to the host for overwriting that allocated, filled or copied. */
  uint64_t host_overwrites;
  /** Accesses to the device for reading that allocated, filled or copied. */
  uint64_t device_reads;
  /** Accesses to the device for reading and writing that allocated, filled or copied. */
  uint64_t device_writes;
  /** Accesses to the device for overwriting that allocated, filled or copied. */
  uint64_t device_overwrites;
} syncedmem_stats_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The name of a `syncedmem_status_t`, such as "SYNCEDMEM_ERROR_NO_GPU"; "unknown status" for other numbers. The string
 * is static.
 */
const char *syncedmem_status_name(int32_t status);

/**
 * The sentence of the calling thread's last failed call; empty without one. It lives until the thread's next failed
 * call, or its end.
 */
const char *syncedmem_last_error(void);

/** The version of the running library, such as "1.2.3". The string is static. */
const char *syncedmem_version(void);

/**
 * Loads the CUDA driver, and returns `NO_GPU` if it cannot be used. Writes a sentence to `*sentence`, unless that is
 * NULL: the driver's version and devices, or why there is no GPU and what to do. The string is static.
 */
syncedmem_status_t syncedmem_cuda_status(const char **sentence);

/**
 * Switches the device check of Caffe's DEBUG builds: a call gives `WRONG_DEVICE` if another device than that of the
 * object's own device block is current. Without it such calls succeed, and `syncedmem_device_mismatches` counts those
 * that called the driver. Overrides `SYNCEDMEM_CHECK_DEVICE`.
 */
syncedmem_status_t syncedmem_set_device_check(bool on);

/** Writes to `*on` whether the device check is on. */
syncedmem_status_t syncedmem_get_device_check(bool *on);

/** Writes to `*count` how many accesses that called the driver found another device current than that of the data. */
syncedmem_status_t syncedmem_device_mismatches(uint64_t *count);

/**
 * Creates an object of `bytes` on each side, which may be 0, and writes its handle to `*mem`.
 *
 * Errors: `OUT_OF_MEMORY` (also if no address space holds `bytes`).
 */
syncedmem_status_t syncedmem_create(size_t bytes, struct syncedmem_t **mem);

/**
 * Destroys an object of `syncedmem_create` and frees the memory it owns. Memory that tensors use is freed with the
 * last of them.
 */
syncedmem_status_t syncedmem_destroy(struct syncedmem_t *mem);

/**
 * Works as `syncedmem_create`, in the first 32 bytes of the caller's storage, whose address is the handle.
 *
 * Errors: `INVALID_ARGUMENT` (also storage that is misaligned or too small).
 *
 * # Safety
 * `storage` is writable for `storage_bytes`, and stays where it is.
 */
syncedmem_status_t syncedmem_construct(void *storage,
                                       size_t storage_bytes,
                                       size_t bytes,
                                       struct syncedmem_t **mem);

/**
 * Ends an object of `syncedmem_construct` and frees the memory it owns, but not its storage.
 *
 * Errors: `EXPORTED`.
 */
syncedmem_status_t syncedmem_destruct(struct syncedmem_t *mem);

/** Writes to `*head` where the newest data is. */
syncedmem_status_t syncedmem_head(const struct syncedmem_t *mem, syncedmem_head_t *head);

/** Writes the size of each side, in bytes, to `*bytes`. */
syncedmem_status_t syncedmem_size(const struct syncedmem_t *mem, size_t *bytes);

/**
 * Writes the ordinal of the device that holds the object's device block to `*ordinal`; -1 without a block, or if the
 * driver does not know memory of `syncedmem_set_gpu_data`.
 */
syncedmem_status_t syncedmem_device_ordinal(const struct syncedmem_t *mem,
                                            int *ordinal);

/** Writes to `*pinned` whether this library allocated the object's host block page-locked. */
syncedmem_status_t syncedmem_is_pinned(const struct syncedmem_t *mem, bool *pinned);

/** Writes to `*owns` whether the object has a host block that it frees: not for borrowed memory and size 0. */
syncedmem_status_t syncedmem_owns_cpu(const struct syncedmem_t *mem, bool *owns);

/** Writes to `*owns` whether the object has a device block that it frees: not for borrowed memory and size 0. */
syncedmem_status_t syncedmem_owns_gpu(const struct syncedmem_t *mem, bool *owns);

/**
 * Writes the address of the host data to `*data`, for reading. A first access allocates zeros; newer data is copied
 * from the device.
 */
syncedmem_status_t syncedmem_cpu_data(struct syncedmem_t *mem,
                                      const void **data);

/** Works as `syncedmem_cpu_data`, for reading and writing. The host is then the newest side. */
syncedmem_status_t syncedmem_mutable_cpu_data(struct syncedmem_t *mem, void **data);

/**
 * Works as `syncedmem_mutable_cpu_data`, but neither fills nor copies: the contents are undefined, and the caller writes all
 * of them.
 */
syncedmem_status_t syncedmem_overwrite_cpu_data(struct syncedmem_t *mem,
                                                void **data);

/** Works as `syncedmem_cpu_data`, for the device data; NULL for size 0. */
syncedmem_status_t syncedmem_gpu_data(struct syncedmem_t *mem, const void **data);

/** Works as `syncedmem_gpu_data`, for reading and writing. The device is then the newest side. */
syncedmem_status_t syncedmem_mutable_gpu_data(struct syncedmem_t *mem, void **data);

/** Works as `syncedmem_overwrite_cpu_data`, for the device data. */
syncedmem_status_t syncedmem_overwrite_gpu_data(struct syncedmem_t *mem, void **data);

/**
 * Makes the caller's memory the host side, which is then the newest. The object borrows it: later copies from the
 * device write to it. An owned host block is freed; the device block stays.
 *
 * Errors: `EXPORTED`.
 *
 * # Safety
 * `data` is readable and writable for the object's size while the object refers to it.
 */
syncedmem_status_t syncedmem_set_cpu_data(struct syncedmem_t *mem,
                                          void *data);

/**
 * Works as `syncedmem_set_cpu_data`, for the device side: memory of any device, or managed memory.
 *
 * # Safety
 * `data` is device memory of the object's size while the object refers to it.
 */
syncedmem_status_t syncedmem_set_gpu_data(struct syncedmem_t *mem, void *data);

/**
 * Frees the host block while the device holds the newest data.
 *
 * Errors: `INVALID_STATE` (the device does not hold the newest data), `EXPORTED`.
 */
syncedmem_status_t syncedmem_release_cpu(struct syncedmem_t *mem);

/**
 * Declares the contents dead: frees the memory of both sides, and keeps the object. The next write begins with zeros; a read
 * before it fails. The head is then HEAD_AT_CPU. Memory that the object borrows stays the caller's.
 *
 * # Safety
 * Pointers to the object's memory are not used any more.
 *
 * Errors: `EXPORTED`.
 */
syncedmem_status_t syncedmem_discard(struct syncedmem_t *mem);

/** Works as `syncedmem_release_cpu`, for the device block while the host holds the newest data. */
syncedmem_status_t syncedmem_release_gpu(struct syncedmem_t *mem);

/**
 * Starts a copy on `stream` from the host to the device. The head is SYNCED at once; synchronize the stream before you
 * use the device data.
 *
 * Errors: `INVALID_STATE` (the head is not HEAD_AT_CPU).
 */
syncedmem_status_t syncedmem_async_gpu_push(struct syncedmem_t *mem,
                                            struct CUstream_st *stream);

/**
 * Starts a copy on `stream` from the device to the host, unless the host is current or such a copy is in flight. The
 * head stays HEAD_AT_GPU until `syncedmem_cpu_data`, `syncedmem_wait` or `syncedmem_is_ready` completes the copy.
 *
 * Errors: `INVALID_STATE` (UNINITIALIZED).
 */
syncedmem_status_t syncedmem_async_cpu_pull(struct syncedmem_t *mem,
                                            struct CUstream_st *stream);

/**
 * Declares that work already in `stream` may use the object's device block and page-locked host block, which are then
 * not reused before that work is done. It is needed, after the last use on that stream, for streams of another context
 * than the block's. Borrowed and later blocks are not affected.
 */
syncedmem_status_t syncedmem_record_stream(struct syncedmem_t *mem,
                                           struct CUstream_st *stream);

/**
 * Makes later work of `stream` wait for the library's fills and copies of the object's device side, which run on the
 * legacy default stream: streams of `cudaStreamNonBlocking` do not wait for that by themselves. The calling thread
 * waits only for the object's copy in flight. `stream` may be one of CUDA's two special handles.
 */
syncedmem_status_t syncedmem_stream_wait(struct syncedmem_t *mem,
                                         struct CUstream_st *stream);

/** Waits for the object's copy in flight. After a pull both sides hold the same data. */
syncedmem_status_t syncedmem_wait(struct syncedmem_t *mem);

/** Writes to `*ready` whether the object has no copy in flight. It never waits. */
syncedmem_status_t syncedmem_is_ready(struct syncedmem_t *mem, bool *ready);

/**
 * Prepares a side (`syncedmem_side_t`) for an access (`syncedmem_access_t`), and writes a new DLPack tensor of its
 * memory to `*tensor`: a `DLManagedTensorVersioned *` (version 1.0), or, without `versioned`, a `DLManagedTensor *`.
 *
 * An element has DLPack's `type_code` (0: signed integer, 1: unsigned, 2: IEEE float, 4: bfloat16, 5: complex, 6:
 * bool, 7 to 14: 8-bit floats) and `type_bits`. Elements are in C order, of the `ndim` dimensions at `shape`. A tensor
 * for reading is marked read-only, which requires `versioned`.
 *
 * The consumer calls the tensor's deleter once, beside any other call on the object. Until then calls that would make
 * the address invalid (setting or releasing that side, `syncedmem_destruct`) give `EXPORTED`, and after
 * `syncedmem_destroy` the last tensor ends the object. An object that C++ ends must outlive its tensors.
 *
 * A consumer on another stream than the legacy default one calls `syncedmem_stream_wait` before it reads, and, on a
 * stream of another context than the block's, `syncedmem_record_stream` before it deletes the tensor. A device reset
 * frees device tensors' memory.
 *
 * Errors: `INVALID_ARGUMENT` (also an impossible type or shape, more bytes than the object has, borrowed device memory
 * that the driver does not know).
 */
syncedmem_status_t syncedmem_to_dlpack(struct syncedmem_t *mem,
                                       int32_t side,
                                       int32_t access,
                                       uint8_t type_code,
                                       uint8_t type_bits,
                                       int32_t ndim,
                                       const int64_t *shape,
                                       bool versioned,
                                       void **tensor);

/**
 * Makes a tensor's memory a side of the object, which borrows it as by `syncedmem_set_cpu_data` or, on a CUDA device,
 * by `syncedmem_set_gpu_data`. `tensor` is a `DLManagedTensorVersioned *`, or, without `versioned`, a `DLManagedTensor
 * *`. The memory must be contiguous in C order, writable, and of the object's size.
 *
 * On success the library owns the tensor, and calls its deleter when that side is set or released, or the object ends:
 * on that thread (for a destroyed object whose own tensors are in use, on the thread that deletes the last), without
 * locks. The deleter must order reuse of device memory after the legacy default stream, where a copy may still run. Two
 * objects that borrow from each other keep each other alive until one is set or released.
 *
 * Errors: as `syncedmem_set_cpu_data`, and `INVALID_ARGUMENT` for memory other than described.
 *
 * # Safety
 * The tensor describes its memory correctly. The object is ended by this library before its own memory goes.
 */
syncedmem_status_t syncedmem_set_dlpack(struct syncedmem_t *mem,
                                        void *tensor,
                                        bool versioned);

/** Writes how many tensors of the object's host side and of its device side are in use. */
syncedmem_status_t syncedmem_exports(const struct syncedmem_t *mem, size_t *host, size_t *device);

/**
 * A destructor for CPython's `PyCapsule_New`, for capsules named "dltensor_versioned" or "dltensor" that hold a tensor
 * of `syncedmem_to_dlpack`. If the capsule still has that name, no consumer took the tensor, and its deleter is
 * called. A Python exception stays set.
 *
 * # Safety
 * `capsule` is NULL or a `PyObject *` of that kind, and the calling thread holds the GIL.
 */
void syncedmem_end_capsule(void *capsule);

/** Gives the idle blocks of a `syncedmem_memory_t` back to the system or the driver. */
syncedmem_status_t syncedmem_trim(int32_t memory);

/** Writes the idle bytes of a `syncedmem_memory_t` to `*bytes`. */
syncedmem_status_t syncedmem_idle_bytes(int32_t memory, size_t *bytes);

/**
 * Sets the most bytes that may be idle, in blocks that objects gave back, separately for pageable memory, for page-locked
 * memory and for each device. With 0 each block is allocated and freed as in Caffe. Overrides
 * `SYNCEDMEM_POOL_BUDGET`, which holds again after `SIZE_MAX`, or without it the default.
 *
 * Defaults: a quarter of the process's memory for pageable blocks, a sixteenth for page-locked ones, and a quarter of
 * what would be free on a device without idle blocks, but at most an eighth of the device. Idle memory of a kind plus that
 * in use stays within the most that was in use at once, plus 1 MiB; for page-locked and each device's memory plus a
 * twelfth, if that is more.
 */
syncedmem_status_t syncedmem_set_pool_budget(size_t bytes);

/**
 * Writes the most bytes of one `syncedmem_memory_t` that may be idle to `*bytes`; for device memory without a set budget,
 * those of the device that may keep most.
 *
 * Errors: `INVALID_ARGUMENT` (also SYNCEDMEM_MEMORY_ALL).
 */
syncedmem_status_t syncedmem_get_pool_budget(int32_t memory,
                                             size_t *bytes);

/**
 * Sets for how many seconds a pageable block may be idle; by default 10. Other blocks have no limit. Overrides
 * `SYNCEDMEM_POOL_AGE`.
 *
 * Errors: `INVALID_ARGUMENT` (negative, or no number).
 */
syncedmem_status_t syncedmem_set_pool_age(double seconds);

/** Writes to `*seconds` how long a pageable block may be idle. */
syncedmem_status_t syncedmem_get_pool_age(double *seconds);

/**
 * Sets how many bytes this library may page-lock in all, for objects and idle. Beyond that new host blocks are pageable;
 * page-locked memory stays so. Overrides `SYNCEDMEM_PINNED_LIMIT`; by default half of the process's memory.
 */
syncedmem_status_t syncedmem_set_pinned_limit(size_t bytes);

/** Writes to `*bytes` how many bytes may be page-locked in all. */
syncedmem_status_t syncedmem_get_pinned_limit(size_t *bytes);

/** Sets the mode assumed for `Caffe::mode()`: a `syncedmem_mode_t`. Overrides `SYNCEDMEM_MODE`. */
syncedmem_status_t syncedmem_set_mode(int32_t mode);

/** Writes the current `syncedmem_mode_t` to `*mode`. */
syncedmem_status_t syncedmem_get_mode(syncedmem_mode_t *mode);

/**
 * Registers a function that replaces the look into the process's Caffe; NULL removes it. It is for a Caffe that cannot
 * be found, such as one in a program that does not export its symbols, and returns `caffe::Caffe::mode()`.
 *
 * It is called on the allocating thread, without locks, before a new host block. It returns 0 for CPU and 1 for GPU
 * (other numbers count as CPU), and does not throw. `SYNCEDMEM_MODE` and `syncedmem_set_mode` override it, unless they
 * are auto.
 *
 * # Safety
 * `callback` and `user` stay usable for the rest of the process: a thread may be about to call them.
 */
syncedmem_status_t syncedmem_set_mode_callback(syncedmem_mode_callback_t callback,
                                               void *user);

/** Sets when host memory is page-locked from now on: a `syncedmem_pinning_t`. Overrides `SYNCEDMEM_PIN`. */
syncedmem_status_t syncedmem_set_pinning(int32_t pinning);

/** Writes the current `syncedmem_pinning_t` to `*pinning`. */
syncedmem_status_t syncedmem_get_pinning(syncedmem_pinning_t *pinning);

/** Sets what failed C++ entry points do: a `syncedmem_error_policy_t`. Overrides `SYNCEDMEM_ON_ERROR`. */
syncedmem_status_t syncedmem_set_error_policy(int32_t policy);

/** Writes the current `syncedmem_error_policy_t` to `*policy`. */
syncedmem_status_t syncedmem_get_error_policy(syncedmem_error_policy_t *policy);

/**
 * Registers a function that is called when a C++ entry point fails, before the error policy applies; NULL removes it.
 *
 * It is called on the failing thread, without locks; the message lives until it returns. It may use any object, and
 * throw an exception of any C++ runtime, also a statically linked one; it must not `longjmp`. It is not called for a
 * failure inside itself, nor without memory to note that it runs.
 *
 * # Safety
 * `callback` and `user` stay usable for the rest of the process: a thread may be about to call them.
 */
syncedmem_status_t syncedmem_set_error_callback(syncedmem_error_callback_t callback,
                                                void *user);

/**
 * Sets what is accounted for from now on: a `syncedmem_accounting_t`. Counts stay. Existing blocks count as memory that
 * objects hold. The peak is approximate if other threads use objects during the call. Overrides `SYNCEDMEM_ACCOUNT`.
 */
syncedmem_status_t syncedmem_set_accounting(int32_t accounting);

/** Writes to `*accounting` what is accounted for. */
syncedmem_status_t syncedmem_get_accounting(syncedmem_accounting_t *accounting);

/** Sets the peak of every kind of memory to what objects hold now. */
syncedmem_status_t syncedmem_reset_peaks(void);

/**
 * Writes a report of this process, several lines of UTF-8: calls of Caffe's functions, memory now and at the peak, and
 * counts of operations.
 *
 * `text` gets at most `capacity` bytes, including a NUL, and `*length` the length of the whole report without it.
 * `text` may be NULL if `capacity` is 0.
 */
syncedmem_status_t syncedmem_report(char *text,
                                    size_t capacity,
                                    size_t *length);

/**
 * Names an object in traces, and so in reports of them; the name is copied. Ignored without a trace.
 *
 * Errors: `INVALID_ARGUMENT` (also a name that is empty, longer than `SYNCEDMEM_NAME_BYTES`, or not UTF-8).
 */
syncedmem_status_t syncedmem_set_name(struct syncedmem_t *mem, const char *name);

/**
 * Notes for traces how many items of the batch an object holds: a report then says what one more item costs. 0, the
 * default: it does not grow with the batch. Ignored without a trace.
 */
syncedmem_status_t syncedmem_set_items(struct syncedmem_t *mem,
                                       size_t items);

/**
 * Writes the account to `*stats`: at most the bytes of its `size`. Without accounting, all but `live`, `idle` and
 * `budget` is 0.
 *
 * Errors: `INVALID_ARGUMENT` (also `size` is too small for the first member of memory).
 */
syncedmem_status_t syncedmem_stats(struct syncedmem_stats_t *stats);

/**
 * Starts to record every memory event in a file, which `syncedmem report` and `syncedmem export` read. `%p` in the
 * name becomes the process id. A running trace ends first. Recorded events survive the process, however it ends.
 * `SYNCEDMEM_TRACE` does the same from the first call on.
 *
 * Errors: `FILE`.
 */
syncedmem_status_t syncedmem_trace_start(const char *file);

/** Ends the trace and marks it as whole. */
syncedmem_status_t syncedmem_trace_stop(void);

/**
 * Allocates `size` bytes of host memory, aligned to 64, with undefined contents. Writes the address to `*ptr`, which is
 * not NULL for size 0 either, and to `*use_cuda` whether the memory is page-locked: in GPU mode, if the driver can. Free
 * it with `CaffeFreeHost`; `cudaFreeHost` takes page-locked memory too, and `free()` other memory.
 */
syncedmem_status_t CaffeMallocHost(void **ptr,
                                   size_t size,
                                   bool *use_cuda);

/**
 * Frees memory of `CaffeMallocHost`, `malloc()` or `cudaMallocHost`. `use_cuda` is the value that `CaffeMallocHost`
 * wrote, false for `malloc()`, true for `cudaMallocHost`. Page-locked memory stays if there is no driver to unlock it:
 * at exit, and in a forked child.
 *
 * Errors: `DRIVER` (not such memory).
 */
syncedmem_status_t CaffeFreeHost(void *ptr,
                                 bool use_cuda);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SYNCEDMEM_H */
