/* opens LIBRARY: loads it into a running process, as a scripting language does, uses it, and prints the version of the C library. Uses
 * only functions that glibc 2.17 has. */
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int (*create)(size_t, void**);
  int (*mutable_cpu_data)(void*, void**);
  int (*cpu_data)(void*, const void**);
  int (*destroy)(void*);
  void *library, *mem = NULL, *written = NULL;
  const void* read = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: opens LIBRARY\n");
    return 2;
  }
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  *(void**)&create = dlsym(library, "syncedmem_create");
  *(void**)&mutable_cpu_data = dlsym(library, "syncedmem_mutable_cpu_data");
  *(void**)&cpu_data = dlsym(library, "syncedmem_cpu_data");
  *(void**)&destroy = dlsym(library, "syncedmem_destroy");
  if (!create || !mutable_cpu_data || !cpu_data || !destroy) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  /* Above 2 MiB, so that both small blocks and mappings are used. */
  if (create(64, &mem) || mutable_cpu_data(mem, &written) || destroy(mem)) return 1;
  if (create(3 << 20, &mem) || mutable_cpu_data(mem, &written)) return 1;
  if (((char*)written)[(3 << 20) - 1] != 0) return 1;
  strcpy((char*)written, "as written");
  if (cpu_data(mem, &read) || strcmp((const char*)read, "as written") != 0 || destroy(mem)) return 1;
  printf("works on glibc %s\n", gnu_get_libc_version());
  return 0;
}
