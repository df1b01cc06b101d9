// Objects in every state in which a process may leave them. Statuses are ignored: without a driver only host objects
// exist.
#ifndef PROCESSES_OBJECTS_HPP
#define PROCESSES_OBJECTS_HPP

#include <cstring>
#include <vector>

#include "syncedmem.h"

constexpr std::size_t object_bytes = 5000;

class Objects {
 public:
  Objects() = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() { clear(); }

  void fill() {
    create();                                // untouched
    host(create());                          // on the host
    device(create());                        // on the device
    syncedmem_t* synced = create();          // on both
    host(synced);
    read_device(synced);
    syncedmem_t* newer = create();           // on both, newer on the device
    host(newer);
    device(newer);
    // The library prints one line if memory cannot be page-locked.
    if (syncedmem_cuda_status(nullptr) == SYNCEDMEM_SUCCESS) syncedmem_set_pinning(SYNCEDMEM_PIN_ALWAYS);
    syncedmem_t* pinned = create();          // page-locked
    host(pinned);
    read_device(pinned);
    syncedmem_t* pushed = create();          // page-locked, and perhaps still being copied
    host(pushed);
    syncedmem_async_gpu_push(pushed, nullptr);
    syncedmem_set_pinning(SYNCEDMEM_PIN_AUTO);
    syncedmem_t* borrower = create();        // host memory of the program's
    syncedmem_set_cpu_data(borrower, lent_);
    read_device(borrower);
  }

  void clear() {
    for (syncedmem_t* object : objects_) syncedmem_destroy(object);
    objects_.clear();
  }

  const std::vector<syncedmem_t*>& all() const { return objects_; }

 private:
  syncedmem_t* create() {
    syncedmem_t* object = nullptr;
    if (syncedmem_create(object_bytes, &object) == SYNCEDMEM_SUCCESS) objects_.push_back(object);
    return object;
  }

  static void host(syncedmem_t* object) {
    void* data = nullptr;
    if (syncedmem_mutable_cpu_data(object, &data) == SYNCEDMEM_SUCCESS) std::memset(data, 7, object_bytes);
  }

  static void device(syncedmem_t* object) {
    void* data = nullptr;
    syncedmem_mutable_gpu_data(object, &data);
  }

  static void read_device(syncedmem_t* object) {
    const void* data = nullptr;
    syncedmem_gpu_data(object, &data);
  }

  std::vector<syncedmem_t*> objects_;
  char lent_[object_bytes] = {};
};

#endif  // PROCESSES_OBJECTS_HPP
