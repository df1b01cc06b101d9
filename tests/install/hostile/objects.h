/* Objects with known contents, and random operations on them. An operation that runs out of memory must leave the object as it was; every
 * other failure and every wrong byte ends the program with a sentence and exit status 1. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "syncedmem.h"

/* Ends the process with a sentence, and without exit handlers, whose memory may be damaged. */
static inline void fail(const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text - 1, format, arguments);
  va_end(arguments);
  text[length < (int)sizeof text - 1 ? length : (int)sizeof text - 2] = '\n';
  ssize_t ignored = write(2, text, strlen(text));
  (void)ignored;
  _exit(1);
}

/* Whether the call succeeded. Out of memory is no failure of the library. */
static inline int done(syncedmem_status_t status, const char *what) {
  if (status == SYNCEDMEM_SUCCESS) return 1;
  if (status != SYNCEDMEM_ERROR_OUT_OF_MEMORY) fail("%s: %s: %s", what, syncedmem_status_name(status), syncedmem_last_error());
  return 0;
}

/* xorshift64: the same seed gives the same operations. */
static inline uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static inline uint64_t seed_of(uint64_t number) { return 0x9e3779b97f4a7c15u * (number + 1); }

typedef struct {
  syncedmem_t *mem; /* NULL: there is none */
  size_t bytes;
  unsigned char fill; /* what every byte is; 0 in a new one */
} object_t;

/* Contents are written and checked at bytes this far apart. */
#define STRIDE 509

static inline void verify(const object_t *object, const unsigned char *data) {
  for (size_t at = 0; at < object->bytes; at += STRIDE)
    if (data[at] != object->fill) fail("byte %zu of %zu is %u instead of %u", at, object->bytes, data[at], object->fill);
  if (object->bytes > 0 && data[object->bytes - 1] != object->fill) fail("the last of %zu bytes is wrong", object->bytes);
}

/* Makes an object of up to 2^`most` bytes; small ones are as likely as large ones. */
static inline void make(object_t *object, unsigned most, uint64_t *random) {
  size_t bytes = next_random(random) & (((size_t)1 << (next_random(random) % (most + 1))) - 1);
  syncedmem_t *mem;
  if (done(syncedmem_create(bytes, &mem), "create")) *object = (object_t){mem, bytes, 0};
}

static inline void end(object_t *object) {
  if (object->mem != NULL) done(syncedmem_destroy(object->mem), "destroy");
  object->mem = NULL;
}

/* One random operation on one of `count` objects. */
static inline void step(object_t *objects, unsigned count, unsigned most, uint64_t *random) {
  object_t *object = &objects[next_random(random) % count];
  if (object->mem == NULL) {
    make(object, most, random);
    return;
  }
  const void *read;
  void *data;
  switch (next_random(random) % 8) {
  case 0: end(object); break;
  case 1:
  case 2:
    if (done(syncedmem_cpu_data(object->mem, &read), "cpu_data")) verify(object, read);
    break;
  case 3:
    if (!done(syncedmem_overwrite_cpu_data(object->mem, &data), "overwrite_cpu_data")) break;
    object->fill = (unsigned char)next_random(random);
    memset(data, object->fill, object->bytes);
    break;
  case 4: done(syncedmem_set_name(object->mem, "conv1 weights"), "set_name"); break;
  default:
    if (!done(syncedmem_mutable_cpu_data(object->mem, &data), "mutable_cpu_data")) break;
    verify(object, data);
    object->fill = (unsigned char)next_random(random);
    memset(data, object->fill, object->bytes);
  }
}

static inline void end_all(object_t *objects, unsigned count) {
  for (unsigned i = 0; i < count; ++i) end(&objects[i]);
}

/* Seconds of the monotonic clock. */
static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* By the library's own statistics objects hold no memory of `kind`. */
static inline void expect_nothing_held(void) {
  syncedmem_stats_t stats = {.size = sizeof stats};
  done(syncedmem_stats(&stats), "stats");
  if (stats.pageable.live != 0) fail("%llu bytes are held without an object", (unsigned long long)stats.pageable.live);
}

#endif
