// A library that uses the library, to be opened and closed.
#include "processes/objects.hpp"

namespace {

Objects objects;

}  // namespace

extern "C" void plugin_use() { objects.fill(); }
