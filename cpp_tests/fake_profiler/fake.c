/* An NVTX 3 tool that adds a line for each call to the file that FAKE_PROFILER names. The declarations follow the protocol, not the
   library. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef const void *(*get_table_t)(uint32_t);
typedef void (*function_t)(void);

struct callbacks {
  size_t bytes;
  int (*get_module)(int module, function_t ***table, unsigned *count);
};

struct versions {
  size_t bytes;
  uint32_t version;
  uint32_t reserved;
  void (*set_tool_version)(uint32_t);
};

struct attributes {
  uint16_t version, bytes;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const char *message;
};

static int domain;
static _Thread_local int depth;

static void say(const char *text) {
  FILE *file = fopen(getenv("FAKE_PROFILER"), "a");
  fputs(text, file);
  fclose(file);
}

static void *create(const char *name) {
  char text[200];
  snprintf(text, sizeof text, "create %s\n", name);
  say(text);
  return &domain;
}

static int push(void *in, const struct attributes *a) {
  char text[300];
  snprintf(text, sizeof text, "push %s %u %u %s %llu at %d\n", in == &domain ? "ours" : "another's", a->version, a->bytes,
           a->message_type == 1 ? a->message : "?", a->payload_type == 1 ? (unsigned long long)a->payload : 0ull, depth);
  say(text);
  return depth++;
}

static int pop(void *in) {
  char text[100];
  snprintf(text, sizeof text, "pop %s at %d\n", in == &domain ? "ours" : "another's", --depth);
  say(text);
  return depth;
}

int InitializeInjectionNvtx2(get_table_t get_table) {
  static const unsigned counts[] = {0, 16, 9, 15, 7, 16, 7};
  const struct callbacks *callbacks = get_table(1);
  const struct versions *versions = get_table(3);
  const char *wants = getenv("FAKE_PROFILER_WANTS");
  function_t **table;
  unsigned count;
  int module;

  if (!callbacks || callbacks->bytes != sizeof *callbacks || !versions || versions->bytes != sizeof *versions ||
      versions->version != 3 || get_table(0) || get_table(2) || callbacks->get_module(0, &table, &count) ||
      callbacks->get_module(7, &table, &count)) {
    say("wrong tables\n");
    return 0;
  }
  versions->set_tool_version(1);
  for (module = 1; module <= 6; module++) {
    unsigned number;
    if (!callbacks->get_module(module, &table, &count) || count != counts[module] || table[0] || table[count]) {
      say("wrong module\n");
      return 0;
    }
    for (number = 1; number < count; number++) *table[number] = 0;
  }
  say("initialize\n");
  if (wants && !strcmp(wants, "nothing")) return 1;
  callbacks->get_module(5, &table, 0);
  *table[4] = (function_t)push;
  *table[5] = (function_t)pop;
  *table[12] = (function_t)create;
  return !wants || strcmp(wants, "failure");
}
