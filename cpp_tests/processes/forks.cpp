// Forks with objects on the device, or before there are any, as its argument says. The simulated driver aborts a child
// that calls it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "generations/bvlc_master.hpp"
#include "processes/objects.hpp"
#include "support/driver.hpp"

namespace {

bool right = true;

void expect(bool holds, const char* sentence) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s (%s)\n", sentence, syncedmem_last_error());
  right = false;
}

#define EXPECT(expression) expect(expression, #expression)

const void* gpu_data(syncedmem_t* object, syncedmem_status_t expected) {
  const void* data = nullptr;
  const syncedmem_status_t status = syncedmem_gpu_data(object, &data);
  if (status != expected) std::fprintf(stderr, "gpu_data: %s\n", syncedmem_status_name(status));
  EXPECT(status == expected);
  return data;
}

bool reads(syncedmem_t* object, unsigned char value) {
  const void* data = nullptr;
  if (syncedmem_cpu_data(object, &data) != SYNCEDMEM_SUCCESS) return false;
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < object_bytes; ++i) {
    if (bytes[i] != value) return false;
  }
  return true;
}

syncedmem_t* written(unsigned char value) {
  syncedmem_t* object = nullptr;
  void* data = nullptr;
  syncedmem_create(object_bytes, &object);
  EXPECT(syncedmem_mutable_cpu_data(object, &data) == SYNCEDMEM_SUCCESS);
  std::memset(data, value, object_bytes);
  return object;
}

/// The child ends by exit() with all its handlers.
template <typename Work>
void in_a_child(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);
    // Page-locked memory cannot be had in a child.
    syncedmem_set_pinning(SYNCEDMEM_PIN_AUTO);
    work();
    std::exit(right ? 0 : 1);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child);
  if (status != 0) std::fprintf(stderr, "the child ended with %#x\n", status);
  EXPECT(status == 0);
}

bool is_about_fork(const char* sentence) { return std::strstr(sentence, "fork") != nullptr; }

/// The same through the C++ ABI, which prints the error before it throws.
void refused_in_cxx() {
  syncedmem_t* synced = written(1);
  gpu_data(synced, SYNCEDMEM_SUCCESS);
  EXPECT(syncedmem_set_error_policy(SYNCEDMEM_ON_ERROR_THROW) == SYNCEDMEM_SUCCESS);
  in_a_child([&] {
    caffe::SyncedMemory& memory = *reinterpret_cast<caffe::SyncedMemory*>(synced);
    bool refused = false;
    try {
      memory.gpu_data();
    } catch (const std::runtime_error& error) {
      refused = is_about_fork(error.what());
    }
    EXPECT(refused);
    EXPECT(static_cast<const char*>(memory.cpu_data())[0] == 1);
  });
  EXPECT(reinterpret_cast<caffe::SyncedMemory*>(synced)->gpu_data() != nullptr);
  syncedmem_destroy(synced);
}

/// The child destroys objects of every kind, some itself and some by its exit handlers.
void with_every_object() {
  static Objects at_exit;
  at_exit.fill();
  Objects* ended = new Objects;
  ended->fill();
  in_a_child([&] { delete ended; });
  delete ended;
}

/// No process has used the device: the child may, and so may the parent afterwards.
void before_the_first_use() {
  syncedmem_t* object = written(1);
  const auto use = [&] {
    EXPECT(driver::read(gpu_data(object, SYNCEDMEM_SUCCESS), object_bytes)[0] == 1);
    EXPECT(syncedmem_cuda_status(nullptr) == SYNCEDMEM_SUCCESS);
    Objects objects;
    objects.fill();
    syncedmem_destroy(object);
  };
  in_a_child(use);
  in_a_child(use);
  use();
}

/// An object with a device side, whose newest data is on the host.
syncedmem_t* seen_by_the_device() {
  syncedmem_t* object = written(1);
  gpu_data(object, SYNCEDMEM_SUCCESS);
  void* data = nullptr;
  EXPECT(syncedmem_mutable_cpu_data(object, &data) == SYNCEDMEM_SUCCESS);
  return object;
}

/// The child of a child that could not use the device cannot either.
void twice() {
  syncedmem_t* object = seen_by_the_device();
  in_a_child([&] {
    in_a_child([&] {
      gpu_data(object, SYNCEDMEM_ERROR_NO_GPU);
      EXPECT(reads(object, 1));
    });
    gpu_data(object, SYNCEDMEM_ERROR_NO_GPU);
  });
  syncedmem_destroy(object);
}

/// Without a driver a child is a process like any other.
void without_a_driver() {
  syncedmem_t* object = written(1);
  gpu_data(object, SYNCEDMEM_ERROR_NO_GPU);
  in_a_child([&] {
    EXPECT(reads(object, 1));
    gpu_data(object, SYNCEDMEM_ERROR_NO_GPU);
    EXPECT(!is_about_fork(syncedmem_last_error()));
    Objects objects;
    objects.fill();
  });
  syncedmem_destroy(object);
}

/// The mistakes that these tests have to find.
void wrongly() {
  syncedmem_t* object = written(1);
  gpu_data(object, SYNCEDMEM_SUCCESS);
  in_a_child([] {
    driver::Context context = nullptr;
    driver::api().cuCtxGetCurrent(&context);
  });
}

}  // namespace

int main(int arguments, char** argument) {
  const std::string how = arguments == 2 ? argument[1] : "";
  if (how == "refused-in-cxx") refused_in_cxx();
  else if (how == "with-every-object") with_every_object();
  else if (how == "before-the-first-use") before_the_first_use();
  else if (how == "twice") twice();
  else if (how == "without-a-driver") without_a_driver();
  else if (how == "wrongly") wrongly();
  else return 2;
  return right ? 0 : 1;
}
