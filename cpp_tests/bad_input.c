/* Bad input from C: each call returns a status and a sentence, and writes nothing.
 *   bad_input            the library as it is shipped
 *   bad_input checked    a library built with the cargo feature `checked`: it detects every use after destroy
 * Prints a line for each check that fails, and the number of checks. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/dlpack.h"
#include "support/refused.h"
#include "syncedmem.h"

/* The value that a result keeps when a call is refused. */
static char sentinel_target;
static void *const sentinel = &sentinel_target;

/* Every function that takes a handle, but for those that end it. */
static void every_use_is_refused(syncedmem_t *mem, int status, const char *part) {
  const void *read = sentinel;
  void *data = sentinel;
  char mine[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float lent_data[2] = {0};
  int64_t lent_elements = 2;
  int deleted = 0;
  DLManagedTensorVersioned lent = floats_of(lent_data, &lent_elements, &deleted);
  size_t size = 77;
  int ordinal = 77;
  bool answer = true;
  syncedmem_head_t head = SYNCEDMEM_SYNCED;

  REFUSED(syncedmem_cpu_data(mem, &read), status, part);
  REFUSED(syncedmem_mutable_cpu_data(mem, &data), status, part);
  REFUSED(syncedmem_overwrite_cpu_data(mem, &data), status, part);
  REFUSED(syncedmem_gpu_data(mem, &read), status, part);
  REFUSED(syncedmem_mutable_gpu_data(mem, &data), status, part);
  REFUSED(syncedmem_overwrite_gpu_data(mem, &data), status, part);
  REFUSED(syncedmem_set_cpu_data(mem, mine), status, part);
  REFUSED(syncedmem_set_gpu_data(mem, mine), status, part);
  REFUSED(syncedmem_async_gpu_push(mem, NULL), status, part);
  REFUSED(syncedmem_async_cpu_pull(mem, NULL), status, part);
  REFUSED(syncedmem_wait(mem), status, part);
  REFUSED(syncedmem_pin(mem), status, part);
  REFUSED(syncedmem_unpin(mem), status, part);
  REFUSED(syncedmem_is_ready(mem, &answer), status, part);
  REFUSED(syncedmem_device_ordinal(mem, &ordinal), status, part);
  REFUSED(syncedmem_is_pinned(mem, &answer), status, part);
  REFUSED(syncedmem_owns_cpu(mem, &answer), status, part);
  REFUSED(syncedmem_owns_gpu(mem, &answer), status, part);
  REFUSED(syncedmem_release_cpu(mem), status, part);
  REFUSED(syncedmem_release_gpu(mem), status, part);
  REFUSED(syncedmem_head(mem, &head), status, part);
  REFUSED(syncedmem_size(mem, &size), status, part);
  REFUSED(syncedmem_set_name(mem, "name"), status, part);
  REFUSED(syncedmem_set_items(mem, 64), status, part);
  REFUSED(syncedmem_to_dlpack(mem, 0, 0, kDLFloat, 32, 0, NULL, true, &data), status, part);
  REFUSED(syncedmem_set_dlpack(mem, &lent, true), status, part);
  REFUSED(syncedmem_exports(mem, &size, &size), status, part);
  REFUSED(syncedmem_stream_wait(mem, NULL), status, part);
  CHECK(read == sentinel && data == sentinel && size == 77 && head == SYNCEDMEM_SYNCED && mine[0] == 1);
  CHECK(ordinal == 77 && answer && deleted == 0);
}

static void null_handles(void) {
  every_use_is_refused(NULL, SYNCEDMEM_ERROR_INVALID_ARGUMENT, "mem is NULL");
  INVALID(syncedmem_destruct(NULL), "mem is NULL");
  WORKS(syncedmem_destroy(NULL));
}

static void misaligned_handles(void) {
  uint64_t storage[8] = {0};
  syncedmem_t *mem = (syncedmem_t *)(void *)((char *)storage + 4);
  const void *data = sentinel;

  INVALID(syncedmem_cpu_data(mem, &data), "not aligned");
  INVALID(syncedmem_destroy(mem), "not aligned");
  INVALID(syncedmem_destruct(mem), "not aligned");
  INVALID(syncedmem_set_cpu_data(mem, storage), "not aligned");
  CHECK(data == sentinel && storage[0] == 0 && storage[3] == 0 && storage[4] == 0);
}

static void null_results(syncedmem_t *mem) {
  const char *part = "pointer for the result is NULL";
  uint64_t storage[4] = {1, 2, 3, 4};
  bool pinned = true;
  void *block = sentinel;

  INVALID(syncedmem_create(8, NULL), part);
  INVALID(syncedmem_construct(storage, sizeof storage, 8, NULL), part);
  CHECK(storage[0] == 1 && storage[1] == 2 && storage[2] == 3 && storage[3] == 4);
  INVALID(syncedmem_cpu_data(mem, NULL), part);
  INVALID(syncedmem_mutable_cpu_data(mem, NULL), part);
  INVALID(syncedmem_overwrite_cpu_data(mem, NULL), part);
  INVALID(syncedmem_gpu_data(mem, NULL), part);
  INVALID(syncedmem_mutable_gpu_data(mem, NULL), part);
  INVALID(syncedmem_overwrite_gpu_data(mem, NULL), part);
  INVALID(syncedmem_head(mem, NULL), part);
  INVALID(syncedmem_size(mem, NULL), part);
  INVALID(syncedmem_get_mode(NULL), part);
  INVALID(syncedmem_get_pinning(NULL), part);
  INVALID(syncedmem_get_error_policy(NULL), part);
  INVALID(syncedmem_get_device_check(NULL), part);
  INVALID(syncedmem_device_mismatches(NULL), part);
  INVALID(syncedmem_is_ready(mem, NULL), part);
  INVALID(syncedmem_device_ordinal(mem, NULL), part);
  INVALID(syncedmem_is_pinned(mem, NULL), part);
  INVALID(syncedmem_get_accounting(NULL), part);
  INVALID(syncedmem_report(NULL, 0, NULL), part);
  INVALID(syncedmem_stats(NULL), "the pointer for the result is NULL");
  INVALID(syncedmem_owns_cpu(mem, NULL), part);
  INVALID(syncedmem_owns_gpu(mem, NULL), part);
  INVALID(CaffeMallocHost(NULL, 8, &pinned), part);
  INVALID(CaffeMallocHost(&block, 8, NULL), part);
  CHECK(pinned && block == sentinel);
}

static void misaligned_results(syncedmem_t *mem) {
  uint64_t words[4] = {5, 6, 7, 8};
  void *odd = (char *)words + 1;

  INVALID(syncedmem_create(8, (syncedmem_t **)odd), "misaligned");
  INVALID(syncedmem_cpu_data(mem, (const void **)odd), "misaligned");
  INVALID(syncedmem_size(mem, (size_t *)odd), "misaligned");
  INVALID(syncedmem_head(mem, (syncedmem_head_t *)odd), "misaligned");
  INVALID(syncedmem_get_mode((syncedmem_mode_t *)odd), "misaligned");
  INVALID(syncedmem_device_mismatches((uint64_t *)odd), "misaligned");
  INVALID(syncedmem_device_ordinal(mem, (int *)odd), "misaligned");
  INVALID(syncedmem_cuda_status((const char **)odd), "misaligned");
  CHECK(words[0] == 5 && words[1] == 6);
}

static void null_data(syncedmem_t *mem) {
  const void *before = NULL;
  const void *after = NULL;

  WORKS(syncedmem_cpu_data(mem, &before));
  INVALID(syncedmem_set_cpu_data(mem, NULL), "data is NULL");
  INVALID(syncedmem_set_gpu_data(mem, NULL), "data is NULL");
  WORKS(syncedmem_cpu_data(mem, &after));
  CHECK(before == after);
}

static void unknown_numbers(void) {
  const int32_t unknown[] = {-1, 3, 99, INT32_MAX, INT32_MIN};
  syncedmem_mode_t mode = SYNCEDMEM_MODE_GPU;
  syncedmem_pinning_t pinning = SYNCEDMEM_PIN_ALWAYS;
  syncedmem_error_policy_t policy = SYNCEDMEM_ON_ERROR_THROW;
  size_t i;

  for (i = 0; i < sizeof unknown / sizeof *unknown; ++i) {
    INVALID(syncedmem_set_mode(unknown[i]), "mode");
    INVALID(syncedmem_set_pinning(unknown[i]), "pinning");
    INVALID(syncedmem_set_error_policy(unknown[i]), "policy");
    INVALID(syncedmem_set_accounting(unknown[i]), "accounting");
    CHECK(strcmp(syncedmem_status_name(unknown[i] == 3 ? 1000 : unknown[i]), "unknown status") == 0);
  }
  INVALID(syncedmem_set_error_policy(2), "policy");
  WORKS(syncedmem_get_mode(&mode));
  WORKS(syncedmem_get_pinning(&pinning));
  WORKS(syncedmem_get_error_policy(&policy));
  CHECK(mode == SYNCEDMEM_MODE_AUTO && pinning == SYNCEDMEM_PIN_AUTO && policy == SYNCEDMEM_ON_ERROR_ABORT);
  CHECK(strcmp(syncedmem_status_name(SYNCEDMEM_ERROR_NO_GPU), "SYNCEDMEM_ERROR_NO_GPU") == 0);
}

/* tests/observe/account.rs and account_objects.rs have what else is refused. */
static void accounts_and_names(syncedmem_t *mem) {
  syncedmem_accounting_t accounting = SYNCEDMEM_ACCOUNTING_ACCESSES;
  size_t length = 77;

  INVALID(syncedmem_set_name(mem, NULL), "name is NULL");
  INVALID(syncedmem_report(NULL, 4, &length), "NULL");
  CHECK(length == 77);
  WORKS(syncedmem_get_accounting(&accounting));
  CHECK(accounting == SYNCEDMEM_ACCOUNTING_OFF);
  INVALID(syncedmem_trace_start(NULL), "NULL");
  REFUSED(syncedmem_trace_start("/no/such/folder/trace"), SYNCEDMEM_ERROR_FILE, "no such folder");
  WORKS(syncedmem_trace_stop());
}

static void size_zero(void) {
  syncedmem_t *mem = NULL;
  const void *read = NULL;
  void *data = NULL;
  void *block = NULL;
  size_t size = 77;
  bool pinned = true;

  WORKS(syncedmem_create(0, &mem));
  WORKS(syncedmem_size(mem, &size));
  CHECK(size == 0);
  WORKS(syncedmem_cpu_data(mem, &read));
  WORKS(syncedmem_mutable_cpu_data(mem, &data));
  CHECK(read != NULL && read == data);
  WORKS(syncedmem_destroy(mem));
  WORKS(CaffeMallocHost(&block, 0, &pinned));
  CHECK(block != NULL && !pinned);
  WORKS(CaffeFreeHost(block, pinned));
}

static void sizes_that_cannot_exist(void) {
  const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 4095, (size_t)PTRDIFF_MAX + 1, (size_t)-1655996416};
  uint64_t storage[4] = {1, 2, 3, 4};
  size_t i;

  for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    syncedmem_t *mem = sentinel;
    void *block = sentinel;
    bool pinned = true;
    REFUSED(syncedmem_create(sizes[i], &mem), SYNCEDMEM_ERROR_OUT_OF_MEMORY, "no address space");
    REFUSED(syncedmem_construct(storage, sizeof storage, sizes[i], &mem), SYNCEDMEM_ERROR_OUT_OF_MEMORY,
            "no address space");
    REFUSED(CaffeMallocHost(&block, sizes[i], &pinned), SYNCEDMEM_ERROR_OUT_OF_MEMORY, "no address space");
    CHECK(mem == sentinel && block == sentinel && pinned);
    CHECK(storage[0] == 1 && storage[1] == 2 && storage[2] == 3 && storage[3] == 4);
  }
}

/* Sizes that an object may have, and more than this machine has. */
static void more_than_there_is(void) {
  const size_t size = (size_t)1 << 55;
  syncedmem_t *mem = NULL;
  void *data = sentinel;
  syncedmem_head_t head = SYNCEDMEM_SYNCED;

  WORKS(syncedmem_create(size, &mem));
  REFUSED(syncedmem_mutable_cpu_data(mem, &data), SYNCEDMEM_ERROR_OUT_OF_MEMORY, "32.0 PiB");
  REFUSED(syncedmem_overwrite_cpu_data(mem, &data), SYNCEDMEM_ERROR_OUT_OF_MEMORY, "32.0 PiB");
  WORKS(syncedmem_head(mem, &head));
  CHECK(data == sentinel && head == SYNCEDMEM_UNINITIALIZED);
  WORKS(syncedmem_destroy(mem));
}

static void unusable_storage(void) {
  uint64_t storage[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  char *bytes = (char *)storage;
  syncedmem_t *mem = sentinel;
  size_t offset, size;

  INVALID(syncedmem_construct(NULL, 64, 8, &mem), "storage is NULL");
  for (offset = 1; offset < 8; ++offset) {
    INVALID(syncedmem_construct(bytes + offset, 40, 8, &mem), "storage is not aligned");
  }
  for (size = 0; size < SYNCEDMEM_STORAGE_BYTES; ++size) {
    INVALID(syncedmem_construct(storage, size, 8, &mem), "storage_bytes is below");
  }
  CHECK(mem == sentinel);
  CHECK(storage[0] == 1 && storage[1] == 2 && storage[2] == 3 && storage[3] == 4 && storage[4] == 5);

  WORKS(syncedmem_construct(bytes + 8, SYNCEDMEM_STORAGE_BYTES, 8, &mem));
  CHECK((void *)mem == bytes + 8);
  WORKS(syncedmem_destruct(mem));
  CHECK(storage[0] == 1 && storage[5] == 6 && storage[6] == 7 && storage[7] == 8);
}

static void not_an_object(void) {
  uint64_t words[5];
  const void *data = sentinel;
  size_t size = 77;
  syncedmem_t *mem = (syncedmem_t *)(void *)words;

  memset(words, 0xA5, sizeof words);
  DEAD(syncedmem_cpu_data(mem, &data));
  DEAD(syncedmem_size(mem, &size));
  DEAD(syncedmem_set_cpu_data(mem, words));
  DEAD(syncedmem_discard(mem));
  DEAD(syncedmem_release_cpu(mem));
  DEAD(syncedmem_destruct(mem));
  CHECK(data == sentinel && size == 77 && words[0] == words[4] && words[3] == words[4]);
}

static void without_a_gpu(syncedmem_t *mem) {
  const void *read = sentinel;
  void *data = sentinel;
  syncedmem_head_t before = SYNCEDMEM_SYNCED, after = SYNCEDMEM_SYNCED;
  const int no_gpu = SYNCEDMEM_ERROR_NO_GPU;
  int64_t elements = 2;
  int deleted = 0;
  DLManagedTensorVersioned lent = floats_of((float *)sentinel, &elements, &deleted);

  lent.tensor.device_type = kDLCUDA;
  WORKS(syncedmem_head(mem, &before));
  REFUSED(syncedmem_gpu_data(mem, &read), no_gpu, "no GPU: ");
  REFUSED(syncedmem_mutable_gpu_data(mem, &data), no_gpu, "no GPU: ");
  REFUSED(syncedmem_overwrite_gpu_data(mem, &data), no_gpu, "no GPU: ");
  REFUSED(syncedmem_set_gpu_data(mem, sentinel), no_gpu, "no GPU: ");
  REFUSED(syncedmem_async_gpu_push(mem, NULL), no_gpu, "no GPU: ");
  REFUSED(syncedmem_release_gpu(mem), no_gpu, "no GPU: ");
  REFUSED(syncedmem_set_dlpack(mem, &lent, true), no_gpu, "no GPU: ");
  REFUSED(syncedmem_release_cpu(mem), SYNCEDMEM_ERROR_INVALID_STATE, "HEAD_AT_CPU");
  WORKS(syncedmem_head(mem, &after));
  CHECK(read == sentinel && data == sentinel && before == after && deleted == 0);
}

/* Every library detects it: the storage is the caller's, so its bytes stay. */
static void use_after_destruct(void) {
  uint64_t storage[4];
  syncedmem_t *mem = NULL;
  syncedmem_t *next = NULL;
  void *data = NULL;
  size_t size = 0;

  WORKS(syncedmem_construct(storage, sizeof storage, 8, &mem));
  WORKS(syncedmem_mutable_cpu_data(mem, &data));
  WORKS(syncedmem_destruct(mem));
  every_use_is_refused(mem, SYNCEDMEM_ERROR_INVALID_HANDLE, "destroyed");
  DEAD(syncedmem_destruct(mem));

  /* This cannot be detected: the handle leads to the object that has the storage now. */
  WORKS(syncedmem_construct(storage, sizeof storage, 16, &next));
  WORKS(syncedmem_size(mem, &size));
  CHECK(size == 16);
  WORKS(syncedmem_destruct(next));
}

/* Only a checked library detects it: it never reuses a handle. */
static void use_after_destroy(void) {
  enum { count = 1000 };
  static syncedmem_t *handles[count];
  static syncedmem_t *later[count];
  void *data = NULL;
  int i;

  for (i = 0; i < count; ++i) {
    WORKS(syncedmem_create(8, &handles[i]));
    WORKS(syncedmem_mutable_cpu_data(handles[i], &data));
    WORKS(syncedmem_destroy(handles[i]));
  }
  for (i = 0; i < count; ++i) WORKS(syncedmem_create(8, &later[i]));
  for (i = 0; i < count; ++i) {
    every_use_is_refused(handles[i], SYNCEDMEM_ERROR_INVALID_HANDLE, "destroyed");
    DEAD(syncedmem_destroy(handles[i]));
  }
  for (i = 0; i < count; ++i) WORKS(syncedmem_destroy(later[i]));
}

int main(int arguments, char **argument) {
  syncedmem_t *mem = NULL;

  CHECK(strcmp(syncedmem_last_error(), "") == 0);
  WORKS(syncedmem_create(8, &mem));
  null_handles();
  misaligned_handles();
  null_results(mem);
  misaligned_results(mem);
  null_data(mem);
  accounts_and_names(mem);
  unknown_numbers();
  size_zero();
  sizes_that_cannot_exist();
  more_than_there_is();
  unusable_storage();
  not_an_object();
  without_a_gpu(mem);
  use_after_destruct();
  WORKS(syncedmem_destroy(mem));
  if (arguments > 1 && strcmp(argument[1], "checked") == 0) use_after_destroy();

  printf("bad input: %d checks, %d failed\n", checks, failures);
  return failures == 0 ? 0 : 1;
}
