// Opens the plugin TIMES times, uses it, and closes it or leaves it open at exit.
//
//   opens_plugin PLUGIN TIMES closes|leaves
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int arguments, char** argument) {
  if (arguments != 4) return 2;
  for (int times = std::atoi(argument[2]); times > 0; --times) {
    void* plugin = dlopen(argument[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    reinterpret_cast<void (*)()>(dlsym(plugin, "plugin_use"))();
    if (std::strcmp(argument[3], "closes") == 0 && dlclose(plugin) != 0) return 1;
  }
  return 0;
}
