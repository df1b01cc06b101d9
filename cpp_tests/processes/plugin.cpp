// A plugin that uses the library.
#include "processes/objects.hpp"

namespace {

Objects objects;

}  // namespace

extern "C" void plugin_use() { objects.fill(); }
