// The C header alone, as C++.
#include "alone.h"

int main() { return use_the_header(); }
