// Kokkos::DualView, in a build for the CPU, behind the calls of rivals.cpp: both of its sides are the same memory.
#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>

#include <cstddef>
#include <new>

namespace {

typedef Kokkos::DualView<char*> View;

struct Object {
  std::size_t bytes;
  View view;
};
static_assert(sizeof(Object) <= 160, "Storage in library.hpp has room for it");

bool is_fresh(const Object* object) { return object->view.h_view.data() == nullptr; }

// A view cannot be made before its library is set up; that it is never torn down leaks nothing but itself.
bool set_up() {
  if (!Kokkos::is_initialized()) Kokkos::initialize();
  return true;
}

}  // namespace

extern "C" {

void kokkos_construct(void* storage, std::size_t bytes) {
  static const bool ready = set_up();
  static_cast<void>(ready);
  new (storage) Object{bytes, View()};
}

void kokkos_destroy(void* storage) { static_cast<Object*>(storage)->~Object(); }

void* kokkos_mutable_cpu_data(void* storage) {
  Object* object = static_cast<Object*>(storage);
  if (is_fresh(object)) object->view = View("blob", object->bytes);
  object->view.sync_host();
  object->view.modify_host();
  return object->view.h_view.data();
}

int kokkos_overwrite_cpu_data(void* storage, void** data) {
  Object* object = static_cast<Object*>(storage);
  if (is_fresh(object)) {
    object->view = View(Kokkos::view_alloc(std::string("blob"), Kokkos::WithoutInitializing), object->bytes);
  }
  object->view.clear_sync_state();
  object->view.modify_host();
  *data = object->view.h_view.data();
  return 0;
}

}  // extern "C"
