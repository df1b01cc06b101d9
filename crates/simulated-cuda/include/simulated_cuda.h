/* Controls of the simulated CUDA driver (libcuda.so.1): see its README.md.
 *
 * Find the functions with dlsym, or link against the library. All may be called from any thread at any time, before
 * cuInit too, and do not appear in the log. Sizes are in bytes. Entry points are named as they are exported
 * ("cuMemAlloc_v2") or without their version ("cuMemAlloc"); a name that is none ends the process with a message.
 */
#ifndef SIMULATED_CUDA_H
#define SIMULATED_CUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1. A real driver does not have this function. */
int simcuda_is_simulated(void);

/* Sets the memory of a device. What is allocated stays. */
void simcuda_set_memory(int device, size_t bytes);

/* From now on, every asynchronous operation starts at the earliest so long after it was queued. What SIMCUDA_LAG says at
 * first.
 * SIMCUDA_UNTIL_IT_IS_WAITED_FOR puts it off until a thread waits for it, until something is queued after it that is not
 * put off, or until streams are released: it is late however slow the machine is, and a test does not wait for a clock. */
#define SIMCUDA_UNTIL_IT_IS_WAITED_FOR 0xFFFFFFFFu
void simcuda_set_lag(unsigned microseconds);

/* While streams are held, nothing that is queued in a stream starts, but in the legacy default stream, whose work goes on
 * unless it must wait for a held stream. What is already running is completed. */
void simcuda_hold_streams(void);
void simcuda_release_streams(void);

/* Lets the nth call from now (1: the next) of an entry point, and the times - 1 that follow, do nothing and return
 * `status`, which may be any number. times 0: all that follow. */
void simcuda_fail(const char *function, unsigned nth, int status, unsigned times);

/* Takes back all faults that are still to come. */
void simcuda_clear_faults(void);

/* As after the fault of a kernel: every call in the context (NULL: the current one) that would work returns `status`,
 * and its queued work does nothing, until it is destroyed, or its primary context reset. */
void simcuda_break_context(void *context, int status);

/* The number of calls of an entry point since the log was cleared; NULL: of all. Failed ones count too. */
size_t simcuda_calls(const char *function);

/* The log as text, as much of it as fits with a NUL at its end. Returns the length of all of it. `buffer` may be NULL
 * with bytes 0. One line a call, in the order of their returns:
 *   cuMemcpy dst=0x... src=0x... bytes=4096 kind=HtoD ctx=0x... thread=1 -> 0
 * with the fields bytes=, kind=, ptr=, stream=, event=, value= and others where they apply; ctx= is what the thread had
 * current, threads are numbered in the order of their first calls, and the last word is the status. Beyond 64 MiB the
 * oldest lines are left out, and the first line says how many. */
size_t simcuda_log(char *buffer, size_t bytes);

/* Clears the counts of calls and copies, too. */
void simcuda_clear_log(void);

/* The number of copies since the log was cleared that were accepted, synchronous and asynchronous, of that kind ("HtoD",
 * "DtoH", "DtoD", "HtoH"; NULL: any) and that size (SIZE_MAX: any). Copies of 0 bytes are none. */
size_t simcuda_copies(const char *kind, size_t bytes);

/* What is alive: memory that was allocated or registered (managed memory is a device block), contexts
 * (primary ones while they are active), streams and events that were created. */
typedef struct {
  size_t size; /* set by the caller, to sizeof(simcuda_account_t) */
  size_t device_blocks;
  size_t device_bytes;
  size_t pinned_blocks;
  size_t pinned_bytes;
  size_t registered_blocks;
  size_t contexts;
  size_t streams;
  size_t events;
} simcuda_account_t;
void simcuda_account(simcuda_account_t *out);

/* The number of rules that the program broke where no call fails: memory freed while a queued operation needed it, an
 * operation whose memory was freed before it ran, what simcuda_launch names, a context destroyed with work queued, a destroyed context made current (which
 * a real driver may follow to where it was). A sentence a line, as simcuda_log. */
size_t simcuda_violations(char *buffer, size_t bytes);

/* Read and write device memory past the driver, at once: nothing is waited for. 0, or -1 if the range does not lie in
 * one block of device memory. */
int simcuda_read(unsigned long long device_address, void *out, size_t bytes);
int simcuda_write(unsigned long long device_address, const void *in, size_t bytes);

/* An address in a block that a kernel uses, and whether it writes there. */
typedef struct {
  const volatile void *address;
  int writes;
} simcuda_use_t;

/* Runs a function of the program in a kernel's place, in the order of the stream: a launch in the log and in
 * the counts. `run` gets the argument, and for each use a host address of the same byte, valid while it runs; NULL stays
 * NULL. It makes no driver call. Work that is dropped, as in a broken context, does not run.
 *
 * A use of pageable memory, of freed memory, or of another device's is a violation, breaks the context, and returns 700
 * (CUDA_ERROR_ILLEGAL_ADDRESS). A block that is freed before the kernel has run is a violation, and the kernel does not
 * run. An access beyond the page of a block ends the process with a sentence; what a kernel wrote past the end of a block within its
 * last page is a violation. */
int simcuda_launch(const char *kernel, void *stream, const simcuda_use_t *uses, size_t count,
                   void (*run)(void *argument, void *const *bytes), void *argument);

#ifdef __cplusplus
}
#endif

#endif
