/*
 * libsyncedmem: Caffe's SyncedMemory as a library. SPDX-License-Identifier: BSD-2-Clause
 * Generated from the Rust source by cbindgen. Do not edit.
 *
 * A syncedmem_t is a buffer with a host side (CPU) and a device side (GPU): each is allocated when it is first
 * touched, and copied only when the other side is newer. A handle is the address of the object itself, and every
 * caffe::SyncedMemory is one: both ABIs work on the same objects.
 *
 * Ownership. What syncedmem_create returns pairs only with syncedmem_destroy, what syncedmem_construct returns only
 * with syncedmem_destruct, a C++ new only with delete. Pointers to data belong to the object; memory given with
 * syncedmem_set_cpu_data or syncedmem_set_gpu_data stays the caller's and is never freed. Sizes are in bytes.
 *
 * NULL. No argument may be NULL unless its function says so; what is NULL is refused, not followed.
 *
 * Threads. Any number of threads may call syncedmem_cpu_data, syncedmem_gpu_data, syncedmem_to_dlpack for reading,
 * syncedmem_end_access, syncedmem_exports, syncedmem_head and syncedmem_size on one object at once: exactly one of them
 * allocates, fills and copies, the others wait for it. Every other call on an object needs it alone. Different objects are
 * independent. The functions that set a policy may be called at any time.
 *
 * Signals. In a signal handler only access to data that is current already is safe, and not with the device check on, nor
 * for an object that may be evicted: that one may need a lock whose holder waits for the thread that the signal has
 * interrupted. (Where it is this thread's own, the call gives SYNCEDMEM_ERROR_REENTERED.) While every access is counted or
 * traced, the object and the thread must have been used before, outside of handlers, and an access that cannot be counted
 * within 0.1 seconds is counted as dropped. A handler that forks may have interrupted this library, and then hangs.
 *
 * Stacks. A thread with the smallest stack that POSIX threads have on Linux (16 KiB) may call everything, also while accesses
 * are traced. What makes a report needs 24 KiB: syncedmem_report, and a failure in C++ that ends the process. The CUDA
 * driver and the program's callbacks need theirs in addition, a signal stack of its own (sigaltstack) needs as much, and a library that was built without optimisation needs
 * twice as much.
 *
 * Errors. Functions that return a syncedmem_status_t write their results only on success; otherwise the object is
 * as it was (but for a copy in flight that has ended meanwhile: after a pull the head is SYNCED then, after a push that
 * failed it is HEAD_AT_CPU), and syncedmem_last_error() tells the calling thread what was asked, what is wrong and what to do.
 * Nothing in this header ends the process or throws.
 * Detected: NULL, misalignment, storage that is too small, unknown numbers, sizes that cannot exist, and the use
 * of an object after its end for as long as nobody reuses its bytes. A library built with the feature "checked"
 * never reuses what syncedmem_create allocated, so there every later use is detected. Not detected: addresses that
 * lead elsewhere, and memory given to syncedmem_set_cpu_data that is too small or gone.
 *
 * GPU. The CUDA driver is looked for when it is first needed; syncedmem_cuda_status() says whether there is one, or why
 * not. Without one everything on the host works, and device calls give SYNCEDMEM_ERROR_NO_GPU. The calling thread's
 * current context is left as it was. A new device block is made in it; if none is current, on the device that the
 * process's CUDA runtime has chosen, else on device 0. A block is freed in its own context, on whichever thread. Copies
 * and fills are ordered as cudaMemcpy and cudaMemset on the legacy default stream. Where nothing is to be done, the
 * driver is not called.
 *
 * Copies in flight. After syncedmem_async_gpu_push and syncedmem_async_cpu_pull either side may be read at once if it is
 * current; what would disturb the copy waits for it; syncedmem_wait completes it.
 *
 * Graphs. A stream that is being captured into a CUDA graph is refused with SYNCEDMEM_ERROR_INVALID_ARGUMENT, and so is the
 * legacy default stream while a blocking stream of its context is captured; nothing has changed then, and the capture goes on.
 * What the library allocates, frees and waits for by itself runs in the relaxed capture mode of the calling thread, which it
 * gets back, and leaves captures alone. A copy or a fill that an access needs is one of cudaMemcpy or cudaMemset: where the driver
 * refuses that (on the thread that captures, on any while one captures globally, or beside a blocking stream), the access gives
 * SYNCEDMEM_ERROR_DRIVER with a sentence about it, and the driver invalidates the capture, as it does with the original.
 * Bring data to where the graph uses it before the capture begins. One wait of the library's own may invalidate a capture, too:
 * the one before an idle block is handed out or given back (syncedmem_set_reuse), or an object evicted, for no call tells it of a capture on a
 * non-blocking stream that it was never given. It is made until a capture was seen, and never after. A program that captures
 * such streams beside new objects has no such wait with SYNCEDMEM_REUSE_STREAM, nor without pools.
 *
 * Devices. No function waits for another device than that of a block that it frees, copies or evicts: what runs there may be
 * waiting for what the calling thread is about to start. syncedmem_trim, and smaller budgets, wait for the contexts of all
 * blocks that they give back.
 *
 * Eviction. Where there is no room for a block, idle blocks are given back, and then sides of objects that were marked
 * with syncedmem_set_evictable and have no open access; that function says what a mark asks of the object's users.
 * Objects without a mark stay as they are.
 *
 * Exchange. syncedmem_to_dlpack makes a tensor of a side's memory, for NumPy, PyTorch and every other library that knows
 * DLPack, and syncedmem_set_dlpack lends an object the memory of theirs. Nothing is copied, and whoever holds a tensor keeps
 * its memory: until its deleter is called, on whichever thread, the object stays as it is.
 *
 * Fork. The child may use every object: host data stays, and an object that another thread was filling is as it was
 * before. If the parent had used CUDA, device calls in the child give SYNCEDMEM_ERROR_NO_GPU, and nothing of the parent's
 * is freed there. The driver may share page-locked memory with the child instead of copying it on write: what the child
 * is to change, it must copy first.
 *
 * Exit. Nothing need be destroyed before the process ends, in whatever order it ends: what is destroyed late leaves
 * device memory to the system, in silence.
 */

#ifndef SYNCEDMEM_H
#define SYNCEDMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The major number of the version that this header belongs to.
 */
#define SYNCEDMEM_VERSION_MAJOR 0

/**
 * The minor number of the version that this header belongs to.
 */
#define SYNCEDMEM_VERSION_MINOR 1

/**
 * The patch number of the version that this header belongs to.
 */
#define SYNCEDMEM_VERSION_PATCH 0

/**
 * Bytes of storage that `syncedmem_construct` needs at least.
 */
#define SYNCEDMEM_STORAGE_BYTES 32

/**
 * The alignment in bytes that `syncedmem_construct` needs at least.
 */
#define SYNCEDMEM_STORAGE_ALIGNMENT 8

/**
 * The longest name of an object, in bytes.
 */
#define SYNCEDMEM_NAME_BYTES 200

/**
 * The outcome of a call. The numbers are fixed: later versions add, and never change or reuse one.
 */
enum syncedmem_status_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Done.
   */
  SYNCEDMEM_SUCCESS = 0,
  /**
   * An argument cannot be used: NULL, misaligned, too small, or a number that is not one of its enumeration.
   */
  SYNCEDMEM_ERROR_INVALID_ARGUMENT = 1,
  /**
   * The handle does not lead to a live object.
   */
  SYNCEDMEM_ERROR_INVALID_HANDLE = 2,
  /**
   * Host or device memory ran out, or the size asked for cannot exist.
   */
  SYNCEDMEM_ERROR_OUT_OF_MEMORY = 3,
  /**
   * The call needs a GPU, and there is none to use; the message says why.
   */
  SYNCEDMEM_ERROR_NO_GPU = 4,
  /**
   * The object's head does not allow it.
   */
  SYNCEDMEM_ERROR_INVALID_STATE = 5,
  /**
   * The calling thread is already inside an operation on the same object; or a signal handler has interrupted it inside
   * the library, where the call would have to wait for that.
   */
  SYNCEDMEM_ERROR_REENTERED = 6,
  /**
   * A bug of the library, caught inside it.
   */
  SYNCEDMEM_ERROR_INTERNAL = 7,
  /**
   * A call of the CUDA driver failed; the message names it and its status.
   */
  SYNCEDMEM_ERROR_DRIVER = 8,
  /**
   * A call of the CUDA driver met an error that an earlier kernel or copy of this process had left behind.
   */
  SYNCEDMEM_ERROR_PENDING = 9,
  /**
   * The device check is on, and another device is current than the one that holds the data.
   */
  SYNCEDMEM_ERROR_WRONG_DEVICE = 10,
  /**
   * A file cannot be written.
   */
  SYNCEDMEM_ERROR_FILE = 11,
  /**
   * Tensors of the object's memory are in use, which the call would take away.
   */
  SYNCEDMEM_ERROR_EXPORTED = 12,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_status_t syncedmem_status_t;
#else
typedef int32_t syncedmem_status_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Where the newest data is; the numbers are those of `caffe::SyncedMemory::SyncedHead`.
 */
enum syncedmem_head_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Neither side has been touched.
   */
  SYNCEDMEM_UNINITIALIZED = 0,
  /**
   * The host is newer.
   */
  SYNCEDMEM_HEAD_AT_CPU = 1,
  /**
   * The device is newer.
   */
  SYNCEDMEM_HEAD_AT_GPU = 2,
  /**
   * Both sides hold the same data.
   */
  SYNCEDMEM_SYNCED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_head_t syncedmem_head_t;
#else
typedef int32_t syncedmem_head_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What the library may give back of an object on its own when memory runs out.
 */
enum syncedmem_eviction_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Nothing.
   */
  SYNCEDMEM_EVICT_NEVER = 0,
  /**
   * A side that the other can replace.
   */
  SYNCEDMEM_EVICT_REDUNDANT = 1,
  /**
   * Any side. If it holds the newest data, that is copied to the other side before.
   */
  SYNCEDMEM_EVICT_ALWAYS = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_eviction_t syncedmem_eviction_t;
#else
typedef int32_t syncedmem_eviction_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * When a device or page-locked block that was given back is handed out again: work of the device's may be using it still.
 */
enum syncedmem_reuse_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * After its context was synchronised since: whatever used it on that context's streams is done. Streams of other
   * contexts are to be declared with `syncedmem_record_stream`.
   */
  SYNCEDMEM_REUSE_SYNCHRONISED = 0,
  /**
   * After the work that the legacy default stream had when it was given back, and what was declared with
   * `syncedmem_record_stream`.
   */
  SYNCEDMEM_REUSE_STREAM = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_reuse_t syncedmem_reuse_t;
#else
typedef int32_t syncedmem_reuse_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What `Caffe::mode()` is taken to be.
 */
enum syncedmem_mode_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * What the Caffe in the process says.
   */
  SYNCEDMEM_MODE_AUTO = 0,
  /**
   * CPU mode.
   */
  SYNCEDMEM_MODE_CPU = 1,
  /**
   * GPU mode.
   */
  SYNCEDMEM_MODE_GPU = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_mode_t syncedmem_mode_t;
#else
typedef int32_t syncedmem_mode_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * When host memory of objects is page-locked. Where it cannot be, it is pageable, and that is no error.
 */
enum syncedmem_pinning_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * In GPU mode.
   */
  SYNCEDMEM_PIN_AUTO = 0,
  /**
   * Always.
   */
  SYNCEDMEM_PIN_ALWAYS = 1,
  /**
   * Never.
   */
  SYNCEDMEM_PIN_NEVER = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_pinning_t syncedmem_pinning_t;
#else
typedef int32_t syncedmem_pinning_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What a failure in a C++ entry point does after it was reported. C functions return a status in any case.
 */
enum syncedmem_error_policy_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * `abort()`, as Caffe did.
   */
  SYNCEDMEM_ON_ERROR_ABORT = 0,
  /**
   * `std::bad_alloc` when memory ran out, `std::runtime_error` for the rest: those of the C++ runtime that the calling program
   * or library uses, libstdc++ or libc++. A runtime that is linked in statically is found only where it is exported
   * (`-rdynamic`). Where it is not, no other is taken: the process ends by `abort()`, after a sentence that says so. There, throw
   * from a callback: `syncedmem_set_error_callback`.
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

/**
 * What is accounted for.
 */
enum syncedmem_accounting_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Nothing: it costs nothing.
   */
  SYNCEDMEM_ACCOUNTING_OFF = 0,
  /**
   * Objects, blocks, fills and copies.
   */
  SYNCEDMEM_ACCOUNTING_ON = 1,
  /**
   * Every access, too, also where nothing is to be done: each costs some tens of nanoseconds then.
   */
  SYNCEDMEM_ACCOUNTING_ACCESSES = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_accounting_t syncedmem_accounting_t;
#else
typedef int32_t syncedmem_accounting_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A kind of memory.
 */
enum syncedmem_memory_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Host memory that is not page-locked.
   */
  SYNCEDMEM_MEMORY_PAGEABLE = 0,
  /**
   * Page-locked host memory.
   */
  SYNCEDMEM_MEMORY_PINNED = 1,
  /**
   * Device memory.
   */
  SYNCEDMEM_MEMORY_DEVICE = 2,
  /**
   * All three.
   */
  SYNCEDMEM_MEMORY_ALL = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_memory_t syncedmem_memory_t;
#else
typedef int32_t syncedmem_memory_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * One of the two sides of an object.
 */
enum syncedmem_side_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Memory of the CPU.
   */
  SYNCEDMEM_HOST = 0,
  /**
   * Memory of the GPU.
   */
  SYNCEDMEM_DEVICE = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_side_t syncedmem_side_t;
#else
typedef int32_t syncedmem_side_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What is done with the data of a side.
 */
enum syncedmem_access_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It is read: as `syncedmem_cpu_data` and `syncedmem_gpu_data`.
   */
  SYNCEDMEM_READ = 0,
  /**
   * It is read and written: as `syncedmem_mutable_cpu_data` and `syncedmem_mutable_gpu_data`.
   */
  SYNCEDMEM_WRITE = 1,
  /**
   * All of it is written, none of it read: as `syncedmem_overwrite_cpu_data` and `syncedmem_overwrite_gpu_data`.
   */
  SYNCEDMEM_OVERWRITE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum syncedmem_access_t syncedmem_access_t;
#else
typedef int32_t syncedmem_access_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A CUDA stream, as `CUstream` and `cudaStream_t` point to it.
 */
typedef struct CUstream_st CUstream_st;

/**
 * A `caffe::SyncedMemory`, seen from C. A handle is the address of the object itself.
 */
typedef struct syncedmem_t syncedmem_t;

/**
 * Says what `Caffe::mode()` is on the calling thread: 0 for CPU, 1 for GPU; see `syncedmem_set_mode_callback`.
 */
typedef int (*syncedmem_mode_callback_t)(void *user);

/**
 * Called when a C++ entry point failed: see `syncedmem_set_error_callback`.
 */
typedef void (*syncedmem_error_callback_t)(syncedmem_status_t status, const char *message, void *user);

/**
 * A number of like things, their bytes, and the time that they took. It never grows.
 */
typedef struct syncedmem_sum_t {
  /**
   * How many.
   */
  uint64_t count;
  /**
   * Bytes in all.
   */
  uint64_t bytes;
  /**
   * Nanoseconds in all; 0 where that is not measured.
   */
  uint64_t nanoseconds;
} syncedmem_sum_t;

/**
 * One kind of memory, in bytes. It never grows.
 */
typedef struct syncedmem_memory_stats_t {
  /**
   * Bytes that objects hold now. Known without accounting too; pageable blocks of up to 4 KiB are not counted then. The
   * page-locked slots for staged copies, which no object holds, are not among them.
   */
  uint64_t live;
  /**
   * The most that was since accounting began, or since `syncedmem_reset_peaks`.
   */
  uint64_t peak;
  /**
   * Bytes that lie idle, for the next object. Known without accounting too.
   */
  uint64_t idle;
  /**
   * Bytes that may lie idle. Known without accounting too.
   */
  uint64_t budget;
  /**
   * Blocks that came from the system or the driver.
   */
  struct syncedmem_sum_t allocations;
  /**
   * Blocks that came from the pool.
   */
  struct syncedmem_sum_t pool_hits;
  /**
   * Blocks that objects gave back.
   */
  struct syncedmem_sum_t frees;
  /**
   * Blocks that a budget turned away: not kept for the next object, or not page-locked.
   */
  struct syncedmem_sum_t turned_away;
} syncedmem_memory_stats_t;

/**
 * What was accounted for so far. New members come at the end: `size` says which are there.
 */
typedef struct syncedmem_stats_t {
  /**
   * Set by the caller to `sizeof(syncedmem_stats_t)`; set to how many bytes were written.
   */
  size_t size;
  /**
   * Pageable host memory.
   */
  struct syncedmem_memory_stats_t pageable;
  /**
   * Page-locked host memory.
   */
  struct syncedmem_memory_stats_t pinned;
  /**
   * Device memory.
   */
  struct syncedmem_memory_stats_t device;
  /**
   * Copies from page-locked memory to the device. Of a push the time is what its call took.
   */
  struct syncedmem_sum_t to_device_pinned;
  /**
   * Copies from pageable memory to the device through page-locked slots.
   */
  struct syncedmem_sum_t to_device_staged;
  /**
   * Copies from pageable memory to the device by the driver.
   */
  struct syncedmem_sum_t to_device_pageable;
  /**
   * Copies from the device to page-locked memory. Of a pull the time is what its call took.
   */
  struct syncedmem_sum_t to_host_pinned;
  /**
   * Copies from the device to pageable memory through page-locked slots.
   */
  struct syncedmem_sum_t to_host_staged;
  /**
   * Copies from the device to pageable memory by the driver.
   */
  struct syncedmem_sum_t to_host_pageable;
  /**
   * Host sides that were filled with zeros; of fresh pages from the system the time is 0.
   */
  struct syncedmem_sum_t host_fills;
  /**
   * Device sides that were filled with zeros.
   */
  struct syncedmem_sum_t device_fills;
  /**
   * Waits for copies in flight.
   */
  struct syncedmem_sum_t waits;
  /**
   * Contexts that were waited for before a block was handed out again, evicted, or unlocked.
   */
  struct syncedmem_sum_t synchronises;
  /**
   * Pageable memory that was page-locked where it is.
   */
  struct syncedmem_sum_t registrations;
  /**
   * Host sides that were given back to make room.
   */
  struct syncedmem_sum_t host_evictions;
  /**
   * Device sides that were given back to make room.
   */
  struct syncedmem_sum_t device_evictions;
  /**
   * Allocations for the host that failed.
   */
  struct syncedmem_sum_t host_failures;
  /**
   * Allocations for the device that failed.
   */
  struct syncedmem_sum_t device_failures;
  /**
   * Objects that came to be.
   */
  uint64_t objects_made;
  /**
   * Those of them that were first noticed at an access.
   */
  uint64_t objects_unseen;
  /**
   * Objects that were destroyed.
   */
  uint64_t objects_ended;
  /**
   * Accesses to the host to read, to write, and to overwrite: those that needed something, or, where every access is
   * counted, all of them.
   */
  uint64_t host_reads;
  /**
   * As `host_reads`.
   */
  uint64_t host_writes;
  /**
   * As `host_reads`.
   */
  uint64_t host_overwrites;
  /**
   * Accesses to the device, likewise.
   */
  uint64_t device_reads;
  /**
   * As `device_reads`.
   */
  uint64_t device_writes;
  /**
   * As `device_reads`.
   */
  uint64_t device_overwrites;
  /**
   * How many things were not counted: for want of memory, since a signal handler came in between, or, of accesses, since
   * another thread had the books for longer than 0.1 seconds (as during a slow fork).
   */
  uint64_t dropped;
} syncedmem_stats_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The name of a `syncedmem_status_t`, such as "SYNCEDMEM_ERROR_NO_GPU"; of another number, "unknown status".
 * The string lives for ever.
 */
const char *syncedmem_status_name(int32_t status);

/**
 * What went wrong in the calling thread's last call that failed, as a sentence: what was asked, what is wrong,
 * what to do. Empty if none has failed. Calls that succeed leave it as it is. The string lives until the next
 * call that fails on this thread, or the thread's end.
 */
const char *syncedmem_last_error(void);

/**
 * The version of the library that runs, such as "1.2.3". The string lives for ever.
 */
const char *syncedmem_version(void);

/**
 * Looks for the CUDA driver, if nothing has yet, and says whether it can be used: success, or `NO_GPU`.
 *
 * In either case a sentence is written to `*sentence`, unless that is NULL: the driver's version and the devices, or
 * why there is no GPU and what to do. The string lives for ever.
 *
 * Errors: `NO_GPU`, `INVALID_ARGUMENT` (`sentence` is misaligned).
 *
 * # Safety
 * `sentence` is NULL or writable.
 */
syncedmem_status_t syncedmem_cuda_status(const char **sentence);

/**
 * Says whether from now on every call looks at which device is current, and refuses with `WRONG_DEVICE` where the
 * object's device block is on another one: the check of the original's DEBUG builds. Wins over
 * `SYNCEDMEM_CHECK_DEVICE`.
 *
 * Without it such a call is served, as in the original's release builds, and counted where the driver is called
 * anyway: see `syncedmem_device_mismatches`.
 */
syncedmem_status_t syncedmem_set_device_check(bool on);

/**
 * Writes to `*on` whether the device check is on.
 *
 * Errors: `INVALID_ARGUMENT` (NULL).
 *
 * # Safety
 * `on` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_device_check(bool *on);

/**
 * Writes to `*count` how often data on one device was asked for while another was current, as far as the driver was
 * called for it.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned).
 *
 * # Safety
 * `count` is NULL or writable.
 */
syncedmem_status_t syncedmem_device_mismatches(uint64_t *count);

/**
 * Makes an object of `bytes` bytes on each side and writes its handle to `*mem`. Neither side is allocated yet.
 *
 * Pairs only with `syncedmem_destroy`. Size 0 is allowed.
 *
 * Errors: `INVALID_ARGUMENT` (`mem` is NULL), `OUT_OF_MEMORY` (no room for the object, or no address space
 * holds `bytes`).
 *
 * # Safety
 * `mem` is NULL or writable.
 */
syncedmem_status_t syncedmem_create(size_t bytes,
                                    struct syncedmem_t **mem);

/**
 * Ends an object of `syncedmem_create` and frees the memory it owns. NULL is allowed and does nothing. While tensors of
 * it (`syncedmem_to_dlpack`) are in use, its memory stays, and the last of them ends it.
 *
 * Errors: `INVALID_ARGUMENT` (misaligned), `INVALID_HANDLE` (not a live object: nothing is done).
 *
 * # Safety
 * `mem` is NULL or came from `syncedmem_create`; nobody uses it any more, nor its pointers but through its tensors.
 */
syncedmem_status_t syncedmem_destroy(struct syncedmem_t *mem);

/**
 * Makes an object of `bytes` bytes on each side in the caller's storage and writes its handle, which is the
 * storage's address, to `*mem`. Neither side is allocated yet.
 *
 * Pairs only with `syncedmem_destruct`. Only the first 32 bytes of the storage are ever touched.
 *
 * Errors: `INVALID_ARGUMENT` (`storage` is NULL or not aligned to `SYNCEDMEM_STORAGE_ALIGNMENT`,
 * `storage_bytes` is below `SYNCEDMEM_STORAGE_BYTES`, `mem` is NULL), `OUT_OF_MEMORY` (no address space holds `bytes`).
 *
 * # Safety
 * `storage` is NULL or writable for `storage_bytes`, and stays where it is; `mem` is NULL or writable.
 */
syncedmem_status_t syncedmem_construct(void *storage,
                                       size_t storage_bytes,
                                       size_t bytes,
                                       struct syncedmem_t **mem);

/**
 * Ends an object of `syncedmem_construct` and frees the memory it owns, but not its storage.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned), `INVALID_HANDLE` (not a live object: nothing is done), `EXPORTED`
 * (tensors of it are in use: nothing is done).
 *
 * # Safety
 * `mem` is NULL or a handle whose storage is still there; nobody uses it or its pointers any more.
 */
syncedmem_status_t syncedmem_destruct(struct syncedmem_t *mem);

/**
 * Writes where the newest data is to `*head`.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned), `INVALID_HANDLE`.
 *
 * # Safety
 * `mem` is NULL or a handle; `head` is NULL or writable.
 */
syncedmem_status_t syncedmem_head(const struct syncedmem_t *mem, syncedmem_head_t *head);

/**
 * Writes the size of each side, in bytes, to `*bytes`.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned), `INVALID_HANDLE`.
 *
 * # Safety
 * `mem` is NULL or a handle; `bytes` is NULL or writable.
 */
syncedmem_status_t syncedmem_size(const struct syncedmem_t *mem, size_t *bytes);

/**
 * Writes the address of the host data to `*data`, for reading: allocates and zeroes it at the first touch, copies it
 * from the device if that is newer.
 *
 * The address stays the same, and readable, until the object is ended, or its host side released or set.
 *
 * Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `OUT_OF_MEMORY`, `NO_GPU` (the device is newer and out of reach),
 * `DRIVER`, `PENDING`, `WRONG_DEVICE` (with the device check on), `REENTERED`.
 *
 * # Safety
 * `mem` is NULL or a handle; `data` is NULL or writable.
 */
syncedmem_status_t syncedmem_cpu_data(struct syncedmem_t *mem,
                                      const void **data);

/**
 * Writes the address of the host data to `*data`, for reading and writing: as `syncedmem_cpu_data`, and the host is
 * the newest side afterwards.
 *
 * Errors: as `syncedmem_cpu_data`.
 *
 * # Safety
 * `mem` is NULL or a handle; `data` is NULL or writable.
 */
syncedmem_status_t syncedmem_mutable_cpu_data(struct syncedmem_t *mem,
                                              void **data);

/**
 * Writes the address of the host data to `*data`, for writing alone: neither zeroed nor copied. The host is the
 * newest side afterwards, and the caller promises to write all of it: until then its contents are undefined.
 *
 * Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `OUT_OF_MEMORY`, `DRIVER`, `PENDING`, `WRONG_DEVICE` (with the device
 * check on), `REENTERED`.
 *
 * # Safety
 * `mem` is NULL or a handle; `data` is NULL or writable.
 */
syncedmem_status_t syncedmem_overwrite_cpu_data(struct syncedmem_t *mem,
                                                void **data);

/**
 * Writes the address of the device data to `*data`, for reading: the mirror image of `syncedmem_cpu_data`. It is NULL
 * for size 0. A new block is on the device that is current on this thread.
 *
 * Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `NO_GPU`, `OUT_OF_MEMORY`, `DRIVER`, `PENDING`, `WRONG_DEVICE` (with
 * the device check on), `REENTERED`.
 *
 * # Safety
 * `mem` is NULL or a handle; `data` is NULL or writable.
 */
syncedmem_status_t syncedmem_gpu_data(struct syncedmem_t *mem,
                                      const void **data);

/**
 * Writes the address of the device data to `*data`, for reading and writing: the mirror image of
 * `syncedmem_mutable_cpu_data`.
 *
 * Errors: as `syncedmem_gpu_data`.
 *
 * # Safety
 * `mem` is NULL or a handle; `data` is NULL or writable.
 */
syncedmem_status_t syncedmem_mutable_gpu_data(struct syncedmem_t *mem, void **data);

/**
 * Writes the address of the device data to `*data`, for writing alone: the mirror image of
 * `syncedmem_overwrite_cpu_data`.
 *
 * Errors: as `syncedmem_gpu_data`.
 *
 * # Safety
 * `mem` is NULL or a handle; `data` is NULL or writable.
 */
syncedmem_status_t syncedmem_overwrite_gpu_data(struct syncedmem_t *mem, void **data);

/**
 * Makes the caller's memory the host side, which is the newest afterwards. It is borrowed, never freed; a host
 * block that the object owned is freed at once; the device block stays.
 *
 * A later copy from the device writes into the caller's memory.
 *
 * Errors: `INVALID_ARGUMENT` (also where `data` is NULL), `INVALID_HANDLE`, `OUT_OF_MEMORY`, `DRIVER` and `PENDING` (a
 * copy in flight could not be waited for), `WRONG_DEVICE` (with the device check on), `REENTERED`, `EXPORTED` (tensors of
 * that side are in use).
 *
 * # Safety
 * `mem` is NULL or a handle. `data` is NULL, or readable and writable for the object's size while the object
 * refers to it. The pointer to an owned host block is not used any more.
 */
syncedmem_status_t syncedmem_set_cpu_data(struct syncedmem_t *mem,
                                          void *data);

/**
 * Makes the caller's device memory the device side, which is the newest afterwards: the mirror image of
 * `syncedmem_set_cpu_data`. It may be on any device, and managed memory will do.
 *
 * Errors: as `syncedmem_set_cpu_data`, and `NO_GPU`.
 *
 * # Safety
 * `mem` is NULL or a handle. `data` is NULL, or device memory of the object's size while the object refers to it.
 * The pointer to an owned device block is not used any more.
 */
syncedmem_status_t syncedmem_set_gpu_data(struct syncedmem_t *mem,
                                          void *data);

/**
 * Gives back the host block while the device holds the newest data. The next host access allocates it again.
 *
 * Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `INVALID_STATE` (the device does not hold the newest data, so
 * nothing is given back), `DRIVER` and `PENDING` (a copy in flight could not be waited for), `WRONG_DEVICE` (with the
 * device check on), `REENTERED`, `EXPORTED` (tensors of that side are in use).
 *
 * # Safety
 * `mem` is NULL or a handle; pointers to its host data are not used any more.
 */
syncedmem_status_t syncedmem_release_cpu(struct syncedmem_t *mem);

/**
 * Gives back the device block while the host holds the newest data: the mirror image of `syncedmem_release_cpu`.
 *
 * Errors: as `syncedmem_release_cpu`, and `NO_GPU`.
 *
 * # Safety
 * `mem` is NULL or a handle; pointers to its device data are not used any more.
 */
syncedmem_status_t syncedmem_release_gpu(struct syncedmem_t *mem);

/**
 * Starts a copy from the host to the device on `stream` and returns: the head is SYNCED at once, and the caller
 * synchronises the stream before using the device data. The host must be the newest side.
 *
 * The library knows that the copy is in flight: reading either side does not wait for it, and whatever would disturb
 * it does (`syncedmem_mutable_cpu_data`, setting or releasing a side, ending the object). `stream` is not used after
 * this call returns, and may be destroyed. Only page-locked host memory is copied while the caller goes on.
 *
 * Errors: `INVALID_ARGUMENT` (also a stream that is captured: see "Graphs" above), `INVALID_HANDLE`, `NO_GPU`, `INVALID_STATE`,
 * `OUT_OF_MEMORY`, `DRIVER`, `PENDING`, `REENTERED`.
 *
 * # Safety
 * `mem` is NULL or a handle; `stream` is NULL (the legacy default stream) or a stream.
 */
syncedmem_status_t syncedmem_async_gpu_push(struct syncedmem_t *mem,
                                            struct CUstream_st *stream);

/**
 * Starts a copy from the device to the host on `stream` and returns. The head stays HEAD_AT_GPU until the copy is
 * known to be done: `syncedmem_cpu_data` and `syncedmem_wait` wait for it, `syncedmem_is_ready` asks, and none of
 * them copies again. Where the host is current, or such a copy is in flight, nothing is done.
 *
 * Reading the device side does not wait; whatever would disturb the copy does. `stream` is not used after this call
 * returns, and may be destroyed. Only into page-locked host memory is copied while the caller goes on.
 *
 * Errors: `INVALID_ARGUMENT` (also a stream that is captured: see "Graphs" above), `INVALID_HANDLE`, `NO_GPU`, `INVALID_STATE`
 * (UNINITIALIZED), `OUT_OF_MEMORY`, `DRIVER`, `PENDING`, `REENTERED`.
 *
 * # Safety
 * `mem` is NULL or a handle; `stream` is NULL (the legacy default stream) or a stream.
 */
syncedmem_status_t syncedmem_async_cpu_pull(struct syncedmem_t *mem,
                                            struct CUstream_st *stream);

/**
 * Declares that the work that `stream` has now may be using the object's device block and its page-locked host block: when
 * the object gives them back, they are not handed to another before that work is done. To be called after the last use on
 * that stream. `stream` is not used after this call returns, and may be destroyed.
 *
 * Needed for streams that the library cannot see where an event is enough to hand blocks out again (see
 * `syncedmem_set_reuse`), and for streams of another context than the block's. Blocks that the object does not own, and
 * those that it makes later, are not concerned.
 *
 * Errors: `INVALID_ARGUMENT` (also a stream that is captured: see "Graphs" above), `INVALID_HANDLE`, `NO_GPU`, `DRIVER`, `PENDING`.
 *
 * # Safety
 * `mem` is NULL or a handle; `stream` is NULL (the legacy default stream) or a stream.
 */
syncedmem_status_t syncedmem_record_stream(struct syncedmem_t *mem,
                                           struct CUstream_st *stream);

/**
 * Makes what `stream` is given from now on wait for what the library has started on the object's device side: fills and
 * copies are ordered on the legacy default stream, which streams that do not block (`cudaStreamNonBlocking`) do not wait
 * for by themselves. The calling thread waits for nothing but a copy that the object has in flight. `stream` is not used
 * after this call returns.
 *
 * Errors: `INVALID_ARGUMENT` (also a stream that is captured: see "Graphs" above), `INVALID_HANDLE`, `NO_GPU`, `DRIVER`,
 * `PENDING`, `REENTERED`.
 *
 * # Safety
 * `mem` is NULL or a handle; `stream` is NULL (the legacy default stream: there is nothing to do), one of CUDA's two special
 * handles, or a stream.
 */
syncedmem_status_t syncedmem_stream_wait(struct syncedmem_t *mem,
                                         struct CUstream_st *stream);

/**
 * Waits until the object has nothing in flight. After a pull both sides hold the same data.
 *
 * Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `NO_GPU`, `DRIVER`, `PENDING`, `REENTERED`.
 *
 * # Safety
 * `mem` is NULL or a handle.
 */
syncedmem_status_t syncedmem_wait(struct syncedmem_t *mem);

/**
 * Writes to `*ready` whether the object has nothing in flight (any more). It never waits.
 *
 * Errors: as `syncedmem_wait`.
 *
 * # Safety
 * `mem` is NULL or a handle; `ready` is NULL or writable.
 */
syncedmem_status_t syncedmem_is_ready(struct syncedmem_t *mem, bool *ready);

/**
 * Says what the library may give back of the object when memory runs out: a `syncedmem_eviction_t`.
 *
 * When the device has no room for a block, these are given back in this order, until there is: idle blocks; device
 * sides of such objects that the host can replace; device sides that hold the newest data, after it was copied to the
 * host (`SYNCEDMEM_EVICT_ALWAYS`). Those go first that were used the longest ago. When the host has no room, or the
 * block would exceed `SYNCEDMEM_HOST_LIMIT`, it is the same with the sides changed. For page-locked memory nothing is
 * evicted: where there is none left, a block is pageable.
 *
 * From this call on, every call that hands out an address of the object's data (`syncedmem_cpu_data`,
 * `syncedmem_mutable_gpu_data` and their like, and those of C++) opens an access, to be ended with
 * `syncedmem_end_access`. The address is valid until then; while an access is open, nothing of the object is given
 * back. So an object stays whole whose accesses are never ended, as Caffe never does. Work on the device that was
 * started before the access was ended is waited for. Addresses that were handed out before this call are not valid any
 * more, nor are any after the end of their access.
 *
 * The head of such an object may change at any time while no access is open: from `SYNCEDMEM_SYNCED` to that of the
 * side that stays, and with `SYNCEDMEM_EVICT_ALWAYS` from one side to the other. So end the access that filled the host
 * after `syncedmem_async_gpu_push`, not before it. What was borrowed is never given back, and no host side while the
 * device's is borrowed; the newest data is neither copied to borrowed memory, nor, where there are several devices, to one
 * on which the object has no block yet. A host block that `syncedmem_pin` has page-locked may be evicted as any other, and
 * the next one is as it is made.
 *
 * With `SYNCEDMEM_EVICT_NEVER` the mark is taken away, and open accesses count no more. A mark that is changed leaves
 * them open. What the mark asks of whoever calls this: the object is ended by this library (`syncedmem_destroy`,
 * `syncedmem_destruct`, the C++ destructor) before its memory goes.
 *
 * Errors: `INVALID_ARGUMENT` (also another number), `INVALID_HANDLE`, `OUT_OF_MEMORY` (nothing has changed),
 * `WRONG_DEVICE` (with the device check on), `REENTERED`, `EXPORTED` (a first mark while tensors of the object are in use).
 *
 * # Safety
 * `mem` is NULL or a handle; addresses of its data that were handed out before are not used any more, unless the object
 * was marked already and their access is open. The object is ended by this library before its memory goes.
 */
syncedmem_status_t syncedmem_set_evictable(struct syncedmem_t *mem,
                                           int32_t how);

/**
 * Writes what the library may give back of the object to `*how`.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned), `INVALID_HANDLE`.
 *
 * # Safety
 * `mem` is NULL or a handle; `how` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_evictable(const struct syncedmem_t *mem, syncedmem_eviction_t *how);

/**
 * Ends an access: one address that was handed out is not used any more. On an object that is not evictable it does
 * nothing, so that the same code serves both.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned), `INVALID_HANDLE`, `INVALID_STATE` (no access is open).
 *
 * # Safety
 * `mem` is NULL or a handle; of the addresses that were handed out, one is not used any more.
 */
syncedmem_status_t syncedmem_end_access(struct syncedmem_t *mem);

/**
 * Makes a side of the object ready for an access, and writes a tensor of its memory to `*tensor`, for a library that knows
 * DLPack: a new `DLManagedTensorVersioned *` (of version 1.0), or, where `versioned` is false, a `DLManagedTensor *`, as
 * consumers from before DLPack 1.0 want it. Nothing is copied but what the access itself needs.
 *
 * `side` is a `syncedmem_side_t`, `access` a `syncedmem_access_t`; the head moves as that access moves it, now, whatever
 * is done with the tensor later. The elements have DLPack's `type_code` (0: signed integer, 1: unsigned, 2: IEEE float,
 * 4: bfloat16, 5: complex, 6: bool, 7 to 14: floats of 8 bits) and `type_bits` bits, and lie in C's order, `shape[0]` to
 * `shape[ndim - 1]`; together they take no more bytes than the object has. A tensor for reading is marked as read-only,
 * which one without a version cannot be.
 *
 * The consumer calls the tensor's deleter, once: on any thread, at any time, beside any other call on the object. Until
 * then the address is valid: what would void it (setting or releasing that side, `syncedmem_destruct`, a first mark by
 * `syncedmem_set_evictable`) is refused with `EXPORTED`, and an object that `syncedmem_destroy` was called for ends with its
 * last tensor. An object that neither function ends (one that C++ made) must outlive its tensors. To an evictable
 * object a tensor is an open access, which its deleter ends.
 *
 * For whoever reads a device tensor on another stream than the legacy default one there is `syncedmem_stream_wait`; for whoever
 * may delete it before such a stream is done, where `syncedmem_set_reuse` is told that an event is enough,
 * `syncedmem_record_stream`. A reset of the device takes the memory of device tensors with it.
 *
 * Errors: as the access, `OUT_OF_MEMORY`, and `INVALID_ARGUMENT` (NULL, another number, a type or shape that cannot be, more
 * bytes than the object has, reading without a version, borrowed device memory that the driver does not know): then nothing has
 * changed.
 *
 * # Safety
 * `mem` is NULL or a handle; `shape` is readable for `ndim` numbers; `tensor` is NULL or writable.
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
 * Lends a tensor's memory to the object, whose side of it is the newest afterwards: as `syncedmem_set_cpu_data` where it is on
 * the CPU, as `syncedmem_set_gpu_data` where it is on a CUDA device. `tensor` is a `DLManagedTensorVersioned *`, or, where
 * `versioned` is false, a `DLManagedTensor *`.
 *
 * On success the tensor is the library's: its deleter is called once the object does not refer to that memory any more
 * (that side was set or released, or the object ended), on the thread that did so, or, where a destroyed object waited for its
 * own tensors, on the one that deleted the last of them. The library holds nothing meanwhile: a deleter may call it, and take its
 * time. Whoever hands device memory on there does so behind the legacy default stream, where a copy of the library's to it may
 * not be done yet. On an error the tensor stays the caller's.
 *
 * Objects to which tensors of each other are lent keep each other, until one of them lets go.
 *
 * The memory must be contiguous in C's order, writable, since a copy from the other side writes to it, and of the object's
 * size.
 *
 * Errors: as `syncedmem_set_cpu_data` and `syncedmem_set_gpu_data`, and `INVALID_ARGUMENT` (NULL, and what was just said),
 * `EXPORTED` (tensors of that side are in use).
 *
 * # Safety
 * `mem` is NULL or a handle; `tensor` is NULL or a tensor of that kind whose memory is as it says. The object is ended by
 * this library before its own memory goes. The pointer to an owned block of that side is not used any more.
 */
syncedmem_status_t syncedmem_set_dlpack(struct syncedmem_t *mem,
                                        void *tensor,
                                        bool versioned);

/**
 * Writes how many tensors of the object's host side and of its device side (`syncedmem_to_dlpack`) are in use.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned), `INVALID_HANDLE`.
 *
 * # Safety
 * `mem` is NULL or a handle; `host` and `device` are NULL or writable.
 */
syncedmem_status_t syncedmem_exports(const struct syncedmem_t *mem,
                                     size_t *host,
                                     size_t *device);

/**
 * For Python: what to give to CPython's `PyCapsule_New` as the destructor of a capsule with a tensor of
 * `syncedmem_to_dlpack`, whose name is "dltensor_versioned" or "dltensor". Where the capsule has that name still, nobody
 * took the tensor, and its deleter is called.
 *
 * An exception that is set stays as it is.
 *
 * # Safety
 * `capsule` is NULL or a `PyObject *` of that kind, and the calling thread holds the GIL, as when CPython calls it.
 */
void syncedmem_end_capsule(void *capsule);

/**
 * Writes the ordinal of the device that holds the object's device block to `*ordinal`; -1 if it has none, or the
 * driver does not know the memory that was given with `syncedmem_set_gpu_data`.
 *
 * Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`.
 *
 * # Safety
 * `mem` is NULL or a handle; `ordinal` is NULL or writable.
 */
syncedmem_status_t syncedmem_device_ordinal(const struct syncedmem_t *mem,
                                            int *ordinal);

/**
 * Writes to `*pinned` whether the object has host memory that this library page-locked: a block that was made so, or memory
 * of `syncedmem_pin`.
 *
 * Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`.
 *
 * # Safety
 * `mem` is NULL or a handle; `pinned` is NULL or writable.
 */
syncedmem_status_t syncedmem_is_pinned(const struct syncedmem_t *mem,
                                       bool *pinned);

/**
 * Writes to `*owns` whether the object has a host block that it frees: not one that was given with
 * `syncedmem_set_cpu_data`, nor, for size 0, the address that stands for no bytes.
 *
 * Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`.
 *
 * # Safety
 * `mem` is NULL or a handle; `owns` is NULL or writable.
 */
syncedmem_status_t syncedmem_owns_cpu(const struct syncedmem_t *mem, bool *owns);

/**
 * Writes to `*owns` whether the object has a device block that it frees: not one that was given with
 * `syncedmem_set_gpu_data`.
 *
 * Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`.
 *
 * # Safety
 * `mem` is NULL or a handle; `owns` is NULL or writable.
 */
syncedmem_status_t syncedmem_owns_gpu(const struct syncedmem_t *mem, bool *owns);

/**
 * Page-locks the object's host memory where it is: what `syncedmem_set_cpu_data` lent, or a pageable block of its own. Its
 * address and its contents stay, and copies to and from it go at the speed of page-locked memory. It takes long (1 to 3
 * GB/s, once), so it is for memory that is copied again and again. Nothing is done where the memory is page-locked already;
 * what somebody else page-locked stays theirs to undo.
 *
 * It ends with `syncedmem_unpin`. Memory that was lent also ends it when the object lets it go: when its host side is set to
 * other memory or released, when it grows or ends; it must not be freed before, and may be right after. To end it is to wait for
 * the context that was current when the memory was page-locked, and for no other device: unpin it yourself where no thread may
 * wait for that. A block of the object's own stays page-locked when the object lets it go, and lies idle (`SYNCEDMEM_MEMORY_PINNED`)
 * until `syncedmem_trim`, until memory runs out, or until more is page-locked than its budget allows to lie idle.
 *
 * Objects to which the same address was lent share it: the last one ends it. The driver refuses to copy memory of which only a
 * part is page-locked: page-lock the longest first, and have no copies of overlapping memory at other addresses in flight when
 * it ends.
 *
 * Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `NO_GPU`, `INVALID_STATE` (there is no host memory yet, or a shorter part
 * of it is page-locked for another object), `OUT_OF_MEMORY` (`SYNCEDMEM_PINNED_LIMIT`), `DRIVER`, `PENDING`, `REENTERED`.
 *
 * # Safety
 * `mem` is NULL or a handle; memory that was lent stays until the object lets it go.
 */
syncedmem_status_t syncedmem_pin(struct syncedmem_t *mem);

/**
 * Undoes `syncedmem_pin`, after what the object has in flight and what runs in the context that was current then. Where nothing was done, nothing is undone; a block that was
 * made page-locked stays so.
 *
 * Errors: `INVALID_ARGUMENT`, `INVALID_HANDLE`, `NO_GPU`, `DRIVER`, `PENDING` (the memory is page-locked still),
 * `REENTERED`.
 *
 * # Safety
 * `mem` is NULL or a handle.
 */
syncedmem_status_t syncedmem_unpin(struct syncedmem_t *mem);

/**
 * Gives the idle blocks of a kind of memory, a `syncedmem_memory_t`, back to the system or the driver. Data of objects is
 * not touched.
 *
 * Errors: `INVALID_ARGUMENT` (another number).
 */
syncedmem_status_t syncedmem_trim(int32_t memory);

/**
 * Writes how many bytes of a kind of memory, a `syncedmem_memory_t`, lie idle now to `*bytes`.
 *
 * Errors: `INVALID_ARGUMENT` (another number; NULL or misaligned).
 *
 * # Safety
 * `bytes` is NULL or writable.
 */
syncedmem_status_t syncedmem_idle_bytes(int32_t memory, size_t *bytes);

/**
 * Says whether blocks that objects give back are kept for the next object from now on. Without that every block is
 * allocated anew and given back at once, as Caffe's own does; what lies idle is given back now. Wins over
 * `SYNCEDMEM_POOLS` (on, off).
 */
syncedmem_status_t syncedmem_set_pools(bool on);

/**
 * Writes to `*on` whether blocks are kept for the next object.
 *
 * Errors: `INVALID_ARGUMENT` (NULL).
 *
 * # Safety
 * `on` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_pools(bool *on);

/**
 * Says how many bytes of one kind of memory, a `syncedmem_memory_t`, may lie idle at most; 0 keeps none. For device memory
 * that is for each device. Wins over `SYNCEDMEM_PAGEABLE_POOL`, `SYNCEDMEM_PINNED_POOL` and `SYNCEDMEM_DEVICE_POOL`.
 *
 * By default a quarter of the process's memory if it is pageable, a sixteenth if it is page-locked, and for a device a
 * quarter of what would be free on it if nothing lay idle, but no more than an eighth of the device. Idle pageable memory
 * and what is in use never exceed together the most that was in use at once, but for a sixteenth and 2 MiB.
 *
 * Errors: `INVALID_ARGUMENT` (another number, or SYNCEDMEM_MEMORY_ALL).
 */
syncedmem_status_t syncedmem_set_pool_budget(int32_t memory,
                                             size_t bytes);

/**
 * Writes how many bytes of one kind of memory, a `syncedmem_memory_t`, may lie idle to `*bytes`; for device memory, as long
 * as no number was given, what may on the device where most may.
 *
 * Errors: `INVALID_ARGUMENT` (another number, or SYNCEDMEM_MEMORY_ALL; NULL or misaligned).
 *
 * # Safety
 * `bytes` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_pool_budget(int32_t memory,
                                             size_t *bytes);

/**
 * Says for how many seconds a pageable block may lie idle before it is given back. Device and page-locked blocks are not
 * given back for their age, but beyond the budget, by `syncedmem_trim`, and when memory runs out. Wins over
 * `SYNCEDMEM_POOL_AGE`; by default 10.
 *
 * Errors: `INVALID_ARGUMENT` (negative, or no number).
 */
syncedmem_status_t syncedmem_set_pool_age(double seconds);

/**
 * Writes for how many seconds a pageable block may lie idle to `*seconds`.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned).
 *
 * # Safety
 * `seconds` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_pool_age(double *seconds);

/**
 * Says how many bytes this library may page-lock in all: for objects, idle, and registered in place. Beyond that a host
 * block is pageable, which is no error. What is page-locked already stays so. Wins over `SYNCEDMEM_PINNED_LIMIT`; by
 * default half of the process's memory.
 */
syncedmem_status_t syncedmem_set_pinned_limit(size_t bytes);

/**
 * Writes how many bytes may be page-locked in all to `*bytes`.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned).
 *
 * # Safety
 * `bytes` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_pinned_limit(size_t *bytes);

/**
 * Says when device and page-locked blocks that are given back from now on are handed out again: a `syncedmem_reuse_t`.
 * Wins over `SYNCEDMEM_REUSE` (synchronised, stream).
 *
 * Errors: `INVALID_ARGUMENT` (another number).
 */
syncedmem_status_t syncedmem_set_reuse(int32_t reuse);

/**
 * Writes the `syncedmem_reuse_t` in force to `*reuse`.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned).
 *
 * # Safety
 * `reuse` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_reuse(syncedmem_reuse_t *reuse);

/**
 * Says what `Caffe::mode()` is taken to be: a `syncedmem_mode_t`. Wins over `SYNCEDMEM_MODE`.
 *
 * Errors: `INVALID_ARGUMENT` (another number).
 */
syncedmem_status_t syncedmem_set_mode(int32_t mode);

/**
 * Writes the `syncedmem_mode_t` in force to `*mode`.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned).
 *
 * # Safety
 * `mode` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_mode(syncedmem_mode_t *mode);

/**
 * Registers what is asked for `Caffe::mode()` instead of looking into the process's Caffe; NULL for nothing. For a
 * Caffe that cannot be looked into, such as one linked into a program that does not export its symbols: a function
 * that returns `caffe::Caffe::mode()`, compiled with that Caffe's headers.
 *
 * It is called on the allocating thread with nothing held, before a new host block, and gets `user`. It returns 0 for
 * CPU and 1 for GPU; anything else counts as CPU. It must not throw. `SYNCEDMEM_MODE` and `syncedmem_set_mode` win
 * over it, unless they say auto.
 *
 * Errors: `OUT_OF_MEMORY` (the one in force stays).
 *
 * # Safety
 * `callback` and `user` stay usable for the rest of the process: a thread may be about to call them.
 */
syncedmem_status_t syncedmem_set_mode_callback(syncedmem_mode_callback_t callback,
                                               void *user);

/**
 * Says when host memory is page-locked from now on: a `syncedmem_pinning_t`. Wins over `SYNCEDMEM_PIN`.
 *
 * Errors: `INVALID_ARGUMENT` (another number).
 */
syncedmem_status_t syncedmem_set_pinning(int32_t pinning);

/**
 * Writes the `syncedmem_pinning_t` in force to `*pinning`.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned).
 *
 * # Safety
 * `pinning` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_pinning(syncedmem_pinning_t *pinning);

/**
 * Says what failures in C++ entry points do from now on: a `syncedmem_error_policy_t`. Wins over
 * `SYNCEDMEM_ON_ERROR`.
 *
 * Errors: `INVALID_ARGUMENT` (another number).
 */
syncedmem_status_t syncedmem_set_error_policy(int32_t policy);

/**
 * Writes the `syncedmem_error_policy_t` in force to `*policy`.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned).
 *
 * # Safety
 * `policy` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_error_policy(syncedmem_error_policy_t *policy);

/**
 * Registers what is called when a C++ entry point fails, before the error policy is followed; NULL for nothing.
 * C functions never call it.
 *
 * It is called on the failing thread with nothing held, so it may use any object. It gets the status, the
 * message (which lives until it returns) and `user`. It may throw a C++ exception, but not `longjmp`; if it
 * returns, the policy is followed. A failure inside it is not reported to it again, and where there is no memory
 * to note that it runs, it is not called.
 *
 * A callback that throws works with every C++ runtime, since the program's own code throws: it is the way to exceptions where
 * the runtime is linked in statically (`-static-libstdc++`), and the library finds none to throw with.
 *
 * Errors: `OUT_OF_MEMORY` (the one in force stays).
 *
 * # Safety
 * `callback` and `user` stay usable for the rest of the process: a thread may be about to call them.
 */
syncedmem_status_t syncedmem_set_error_callback(syncedmem_error_callback_t callback,
                                                void *user);

/**
 * Says what is accounted for from now on, a `syncedmem_accounting_t`. What was counted stays. Wins over
 * `SYNCEDMEM_ACCOUNT` (off, on, accesses).
 *
 * Objects from before are noticed at their next access that needs something; blocks from before are not counted.
 *
 * Errors: `INVALID_ARGUMENT` (another number).
 */
syncedmem_status_t syncedmem_set_accounting(int32_t accounting);

/**
 * Writes to `*accounting` what is accounted for.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned).
 *
 * # Safety
 * `accounting` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_accounting(syncedmem_accounting_t *accounting);

/**
 * Says whether the host's contents are compared when they are copied, which shows copies and fills that changed nothing.
 * It reads all that is copied once more. Only where something is accounted for or traced. Wins over
 * `SYNCEDMEM_COMPARE` (off, on).
 */
syncedmem_status_t syncedmem_set_compare(bool on);

/**
 * Writes to `*on` whether the host's contents are compared.
 *
 * Errors: `INVALID_ARGUMENT` (NULL).
 *
 * # Safety
 * `on` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_compare(bool *on);

/**
 * Makes what objects hold now the most that they held: the peaks of every kind of memory begin anew.
 */
syncedmem_status_t syncedmem_reset_peaks(void);

/**
 * Writes the report of this process: how much memory there is and was at the peak, who held it, what was copied, and
 * what could be spared. It is text of several lines in UTF-8.
 *
 * At most `capacity` bytes are written to `text`, a NUL at the end among them; what does not fit is left out. `*length`
 * is how many bytes the whole report has, without the NUL. `text` may be NULL where `capacity` is 0.
 *
 * Errors: `INVALID_ARGUMENT` (`text` or `length` is NULL), `OUT_OF_MEMORY`.
 *
 * # Safety
 * `text` is NULL or writable for `capacity` bytes; `length` is NULL or writable.
 */
syncedmem_status_t syncedmem_report(char *text,
                                    size_t capacity,
                                    size_t *length);

/**
 * Gives an object a name, which is copied: its memory is told under it in reports and traces. Without accounting or a
 * trace there is nothing to tell, and nothing is kept.
 *
 * Errors: `INVALID_ARGUMENT` (NULL; a name that is empty, longer than `SYNCEDMEM_NAME_BYTES`, or not UTF-8),
 * `INVALID_HANDLE`.
 *
 * # Safety
 * `mem` is NULL or a handle; `name` is NULL or NUL-terminated.
 */
syncedmem_status_t syncedmem_set_name(struct syncedmem_t *mem,
                                      const char *name);

/**
 * Writes the name of an object, as `syncedmem_report` writes its text; an empty one if it has none.
 *
 * Errors: `INVALID_ARGUMENT` (`text` or `length` is NULL), `INVALID_HANDLE`.
 *
 * # Safety
 * `mem` is NULL or a handle; `text` is NULL or writable for `capacity` bytes; `length` is NULL or writable.
 */
syncedmem_status_t syncedmem_get_name(const struct syncedmem_t *mem,
                                      char *text,
                                      size_t capacity,
                                      size_t *length);

/**
 * Writes what was accounted for so far to `*stats`, whose `size` the caller has set to `sizeof(syncedmem_stats_t)`: as
 * many bytes of it as the library knows, and that many is its `size` then. Without accounting, what is live, idle and
 * may be idle is told, and zeros.
 *
 * Errors: `INVALID_ARGUMENT` (NULL or misaligned; `size` is too small for its first member of memory).
 *
 * # Safety
 * `stats` is NULL or readable and writable for `size` bytes, which are at least those of `size` itself.
 */
syncedmem_status_t syncedmem_stats(struct syncedmem_stats_t *stats);

/**
 * Begins to write what memory does to a file, from now on: as Chrome's trace events, which Perfetto opens, or, where the
 * name ends in `.csv`, in the columns of RMM's log. `%p` in the name becomes the number of the process. A trace that is
 * being written ends first. What is recorded is in the file at once, and readable however the process ends.
 *
 * `SYNCEDMEM_TRACE` does the same from the first call on.
 *
 * Errors: `INVALID_ARGUMENT` (NULL), `FILE` (it cannot be written: the sentence says why).
 *
 * # Safety
 * `file` is NULL or NUL-terminated.
 */
syncedmem_status_t syncedmem_trace_start(const char *file);

/**
 * Ends the trace, if one is being written. The file is whole: the bracket that is missing at its end may be left out.
 */
syncedmem_status_t syncedmem_trace_stop(void);

/**
 * Allocates `size` bytes of host memory, aligned to 64, with any contents: writes the address to `*ptr` and
 * whether the memory is page-locked to `*use_cuda`.
 *
 * It is page-locked in GPU mode, if the driver can; then `CaffeFreeHost` or `cudaFreeHost` frees it, else
 * `CaffeFreeHost` or `free()`. For size 0 the address is not NULL and is freed all the same.
 *
 * Errors: `INVALID_ARGUMENT` (NULL), `OUT_OF_MEMORY`.
 *
 * # Safety
 * `ptr` and `use_cuda` are NULL or writable.
 */
syncedmem_status_t CaffeMallocHost(void **ptr, size_t size, bool *use_cuda);

/**
 * Frees what `CaffeMallocHost`, `malloc()` or `cudaMallocHost` returned; `use_cuda` is what the first wrote, false for
 * `malloc()`, true for `cudaMallocHost`. NULL is allowed and does nothing. Page-locked memory stays where there is no
 * driver to unlock it: at exit, and in a forked child.
 *
 * Errors: `DRIVER` (it is no such memory), `PENDING`.
 *
 * # Safety
 * `ptr` is NULL or came from one of them, and is not used any more.
 */
syncedmem_status_t CaffeFreeHost(void *ptr,
                                 bool use_cuda);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SYNCEDMEM_H */
