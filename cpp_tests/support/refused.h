/*
 * Checks for programs in C: a call works, or returns a status and a sentence. A program includes it once, prints a line for each check
 * that fails, and at its end the number of checks.
 */
#ifndef SUPPORT_REFUSED_H
#define SUPPORT_REFUSED_H

#include <stdio.h>
#include <string.h>

#include "syncedmem.h"

static int checks = 0;
static int failures = 0;

static void check(int holds, const char *what, const char *call, int line) {
  ++checks;
  if (holds) return;
  ++failures;
  printf("line %d: %s: %s\n", line, call, what);
}

/* The call returns `wanted`, and its sentence names the function and mentions `part`. */
static void check_refusal(int status, int wanted, const char *part, const char *call, int line) {
  const char *sentence = syncedmem_last_error();
  const char *end = strchr(call, '(');
  const size_t name = end ? (size_t)(end - call) : strlen(call);

  if (status != wanted) {
    printf("  status %s, wanted %s\n", syncedmem_status_name(status), syncedmem_status_name(wanted));
  }
  check(status == wanted, "another status than expected", call, line);
  check(strncmp(sentence, call, name) == 0, "the sentence does not begin with the function's name", call, line);
  if (strstr(sentence, part) == NULL) printf("  the sentence: %s\n  is without: %s\n", sentence, part);
  check(strstr(sentence, part) != NULL, "the sentence does not say what is wrong", call, line);
}

#define CHECK(condition) check(condition, "does not hold", #condition, __LINE__)
#define REFUSED(call, status, part) check_refusal(call, status, part, #call, __LINE__)
#define INVALID(call, part) REFUSED(call, SYNCEDMEM_ERROR_INVALID_ARGUMENT, part)
#define DEAD(call) REFUSED(call, SYNCEDMEM_ERROR_INVALID_HANDLE, "destroyed")
#define WORKS(call) check((call) == SYNCEDMEM_SUCCESS, syncedmem_last_error(), #call, __LINE__)

#endif
