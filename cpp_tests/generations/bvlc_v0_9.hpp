// The class as BVLC v0.9 declares it: 32 bytes, no flag, no borrowed memory, inline constructors.
#define GENERATION_BYTES 32
#define GENERATION_GARBAGE_FROM 28
#define GENERATION_FIELDS
#define GENERATION_OFFSETS
#include "generations/class.hpp"
