/* The header alone, as C. */
#include "alone.h"

int main(void) { return use_the_header(); }
