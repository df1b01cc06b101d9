/* A cuBLAS for the simulated driver: the ten functions that the library calls. Sums wait for the legacy stream as cuBLAS does; scal
 * and axpy are queued on it. A handle that is used outside of its context, or by two threads at once, ends the process. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

typedef unsigned long long address;
struct handle {
  void *context;
  atomic_int users;
};

int cuCtxGetCurrent(void **context);
int cuStreamSynchronize(void *stream);
int cuLaunchHostFunc(void *stream, void (*run)(void *), void *argument);
int simcuda_read(address from, void *out, size_t bytes);
int simcuda_write(address to, const void *in, size_t bytes);

static atomic_int made, ended, calls, fails, fails_create;
int blas_made(void) { return made; }
int blas_ended(void) { return ended; }
int blas_calls(void) { return calls; }
/* Statuses of the next call and of the next creation. */
void blas_fail(int status) { fails = status; }
void blas_fail_create(int status) { fails_create = status; }

static void die(const char *why) {
  fprintf(stderr, "cublas.c: %s\n", why);
  abort();
}

int cublasCreate_v2(struct handle **handle) {
  int status = atomic_exchange(&fails_create, 0);
  if (status) return status;
  *handle = calloc(1, sizeof **handle);
  if (cuCtxGetCurrent(&(*handle)->context) || !(*handle)->context) die("created without a context");
  made++;
  return 0;
}

int cublasDestroy_v2(struct handle *handle) {
  ended++;
  free(handle);
  return 0;
}

static int begin(struct handle *handle) {
  void *context = NULL;
  if (cuCtxGetCurrent(&context) || context != handle->context) die("a handle of another context");
  if (handle->users++) die("a handle of another thread's");
  calls++;
  return atomic_exchange(&fails, 0);
}

static int end(struct handle *handle, int status) {
  handle->users--;
  return status;
}

static double get(address from, int size, int index) {
  float single = 0;
  double wide = 0;
  if (simcuda_read(from + (address)size * index, size == 4 ? (void *)&single : &wide, size)) die("no memory to read");
  return size == 4 ? single : wide;
}

static void put(address to, int size, int index, double value) {
  float single = (float)value;
  if (simcuda_write(to + (address)size * index, size == 4 ? (void *)&single : &value, size)) die("no memory to write");
}

struct work {
  int count, size, is_scale;
  double factor;
  address x, y;
};

static void run(void *argument) {
  struct work *work = argument;
  for (int i = 0; i < work->count; i++) {
    double x = get(work->x, work->size, i);
    if (work->is_scale)
      put(work->x, work->size, i, x * work->factor);
    else
      put(work->y, work->size, i, get(work->y, work->size, i) + x * work->factor);
  }
  free(work);
}

static int queue(struct handle *handle, struct work work) {
  int status = begin(handle);
  if (!status) {
    struct work *copy = malloc(sizeof *copy);
    *copy = work;
    if (cuLaunchHostFunc(NULL, run, copy)) die("not queued");
  }
  return end(handle, status);
}

static int sum(struct handle *handle, int count, int size, address x, int squares, double *result) {
  int status = begin(handle);
  *result = 0;
  if (!status && cuStreamSynchronize(NULL)) die("no wait");
  for (int i = 0; !status && i < count; i++) {
    double value = get(x, size, i);
    *result += squares ? value * value : fabs(value);
  }
  return end(handle, status);
}

#define OF(T, size, letter)                                                                                  \
  int cublas##letter##asum_v2(struct handle *handle, int count, address x, int step, T *result) {            \
    double wide;                                                                                             \
    int status = sum(handle, count, size, x, 0, &wide);                                                      \
    *result = (T)wide;                                                                                       \
    return status;                                                                                           \
  }                                                                                                          \
  int cublas##letter##dot_v2(struct handle *handle, int count, address x, int step, address y, int step_y,   \
                             T *result) {                                                                    \
    double wide;                                                                                             \
    int status = sum(handle, count, size, x, 1, &wide);                                                      \
    *result = (T)wide;                                                                                       \
    return status;                                                                                           \
  }                                                                                                          \
  int cublas##letter##scal_v2(struct handle *handle, int count, const T *factor, address x, int step) {      \
    return queue(handle, (struct work){count, size, 1, *factor, x, 0});                                      \
  }                                                                                                          \
  int cublas##letter##axpy_v2(struct handle *handle, int count, const T *factor, address x, int step,        \
                              address y, int step_y) {                                                       \
    return queue(handle, (struct work){count, size, 0, *factor, x, y});                                      \
  }
OF(float, 4, S)
OF(double, 8, D)
