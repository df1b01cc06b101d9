// Exits with objects on the device, in the way of its argument. Each process must exit with status 0 and no output: the
// simulated driver aborts if it is called after its exit handler.
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "processes/objects.hpp"
#include "support/driver.hpp"

namespace {

Objects constructed_before_the_first_use;

Objects& constructed_after_the_first_use() {
  static Objects objects;
  return objects;
}

Objects* to_be_cleared = nullptr;
void clear_at_exit() { to_be_cleared->clear(); }

void clear_for_good() { delete to_be_cleared; }

/// After the driver's exit handler only host data is usable.
void use_at_exit() {
  for (syncedmem_t* object : to_be_cleared->all()) {
    syncedmem_head_t head = SYNCEDMEM_UNINITIALIZED;
    const void* data = nullptr;
    void* written = nullptr;
    syncedmem_head(object, &head);
    const syncedmem_status_t read = syncedmem_cpu_data(object, &data);
    if (head != SYNCEDMEM_HEAD_AT_GPU && read != SYNCEDMEM_SUCCESS) std::fputs("host data was refused\n", stderr);
    if (syncedmem_mutable_cpu_data(object, &written) == SYNCEDMEM_SUCCESS) {
      std::memset(written, 8, object_bytes);
      if (syncedmem_gpu_data(object, &data) == SYNCEDMEM_SUCCESS) std::fputs("the driver was used\n", stderr);
    }
    bool ready = false;
    syncedmem_is_ready(object, &ready);
    syncedmem_wait(object);
    syncedmem_release_gpu(object);
  }
  to_be_cleared->clear();
}

/// A thread that destroys objects once a static destructor starts it.
class EndsOnAThread {
 public:
  void start() {
    thread_ = std::thread([this] {
      Objects objects;
      objects.fill();
      std::unique_lock<std::mutex> lock(mutex_);
      filled_ = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return told_; });
    });
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return filled_; });
  }

  ~EndsOnAThread() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      told_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool filled_ = false, told_ = false;
  std::thread thread_;
} ends_on_a_thread;

bool is(const char* argument, const char* name) { return std::strcmp(argument, name) == 0; }

}  // namespace

int main(int arguments, char** argument) {
  if (arguments != 2) return 2;
  const char* how = argument[1];
  Objects never_ended;
  to_be_cleared = new Objects;

  if (is(how, "static-before")) {
    constructed_before_the_first_use.fill();
  } else if (is(how, "static-after")) {
    to_be_cleared->fill();
    constructed_after_the_first_use().fill();
  } else if (is(how, "atexit-before")) {
    std::atexit(clear_at_exit);
    to_be_cleared->fill();
  } else if (is(how, "atexit-after")) {
    to_be_cleared->fill();
    std::atexit(clear_at_exit);
  } else if (is(how, "use-at-exit")) {
    std::atexit(use_at_exit);
    to_be_cleared->fill();
  } else if (is(how, "on-a-thread")) {
    ends_on_a_thread.start();
  } else if (is(how, "exit-on-a-thread")) {
    constructed_before_the_first_use.fill();
    std::thread([] { std::exit(0); }).join();
  } else if (is(how, "never-ended")) {
    to_be_cleared->fill();
    (new Objects)->fill();
  } else if (is(how, "exit-with-frames")) {
    never_ended.fill();
    std::exit(0);
  } else if (is(how, "quick-exit")) {
    constructed_before_the_first_use.fill();
    to_be_cleared->fill();
    std::at_quick_exit(clear_for_good);
    std::quick_exit(0);
  } else if (is(how, "_exit")) {
    constructed_before_the_first_use.fill();
    _exit(0);
  } else if (is(how, "in-flight")) {
    driver::set_lag(20000);
    constructed_before_the_first_use.fill();
    constructed_after_the_first_use().fill();
  } else if (is(how, "full-pools")) {
    to_be_cleared->fill();
    to_be_cleared->clear();
  } else if (is(how, "trims-at-exit")) {
    std::atexit([] { syncedmem_trim(SYNCEDMEM_MEMORY_ALL); });
    to_be_cleared->fill();
    to_be_cleared->clear();
  } else if (is(how, "while-blocks-age")) {
    // The trimming thread is unmapping blocks when the process ends.
    syncedmem_set_pool_age(0);
    constructed_before_the_first_use.fill();
    for (int round = 0; round < 200; ++round) {
      to_be_cleared->fill();
      to_be_cleared->clear();
    }
  } else {
    return 2;
  }
  return 0;
}
