/*
 * A program without a C++ runtime, like Python, that opens libraries, each with its own dependencies, and makes the last one
 * fail.
 *
 *   opens policy|callback LIBRARY…
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int arguments, char **argument) {
  void *library = NULL;
  int (*catches)(const char *);
  int at;
  for (at = 2; at < arguments; ++at) {
    library = dlopen(argument[at], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
  }
  *(void **)&catches = dlsym(library, "catches");
  return catches(argument[1]);
}
