/* A user's C program: it includes the installed header, links the installed library and works on memory. */
#include <stdio.h>
#include <string.h>
#include <syncedmem.h>

#define TRY(call)                                                                     \
  do {                                                                                \
    syncedmem_status_t status = (call);                                               \
    if (status != SYNCEDMEM_SUCCESS) {                                                \
      fprintf(stderr, "%s: %s\n", syncedmem_status_name(status), syncedmem_last_error()); \
      return 1;                                                                       \
    }                                                                                 \
  } while (0)

int main(void) {
  char header_version[32];
  syncedmem_t* mem = NULL;
  const void* read = NULL;
  void* written = NULL;
  size_t bytes = 0, sum = 0, i;
  snprintf(header_version, sizeof header_version, "%d.%d.%d", SYNCEDMEM_VERSION_MAJOR, SYNCEDMEM_VERSION_MINOR,
           SYNCEDMEM_VERSION_PATCH);
  if (strcmp(header_version, syncedmem_version()) != 0) {
    fprintf(stderr, "the header is of version %s, the library of %s\n", header_version, syncedmem_version());
    return 1;
  }
  TRY(syncedmem_create(1000, &mem));
  TRY(syncedmem_mutable_cpu_data(mem, &written));
  memset(written, 1, 1000);
  TRY(syncedmem_cpu_data(mem, &read));
  TRY(syncedmem_size(mem, &bytes));
  for (i = 0; i < bytes; ++i) sum += ((const unsigned char*)read)[i];
  TRY(syncedmem_destroy(mem));
  printf("C, version %s: %zu bytes sum up to %zu\n", syncedmem_version(), bytes, sum);
  return !(bytes == 1000 && sum == 1000);
}
