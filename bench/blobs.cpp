#include "blobs.hpp"

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>

#include "clock.hpp"
#include "threads.hpp"

namespace {

const int kUnderWay = 4;  // the prefetch count of BVLC's data layers

// What is in Caffe's data layers, too: a lock and a condition.
template <typename T>
class Queue {
 public:
  void push(T item) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      items_.push_back(item);
    }
    filled_.notify_one();
  }

  T pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    filled_.wait(lock, [this] { return !items_.empty(); });
    T item = items_.front();
    items_.pop_front();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> items_;
};

void* to_write(const Library& library, void* object, Access access) {
  return access == Access::kWriteOnly ? library.write_only(object) : library.mutable_cpu_data(object);
}

void write_in_full(const Library& library, void* object, std::size_t bytes, Access access) {
  std::memset(to_write(library, object, access), 0x5A, bytes);
}

void read_in_full(const Library& library, void* object, std::size_t bytes) {
  // There is no such byte, so every one of them is looked at.
  if (std::memchr(library.cpu_data(object), 0x5B, bytes) != nullptr) std::abort();
}

void nothing(int) {}

// Memory that grows to the largest size asked for, as that of caffe::Blob.
class GrowingBlob {
 public:
  explicit GrowingBlob(const Library& library) : library_(library) {}
  ~GrowingBlob() {
    if (capacity_ > 0) library_.destroy(object_.get());
  }
  GrowingBlob(const GrowingBlob&) = delete;
  GrowingBlob& operator=(const GrowingBlob&) = delete;

  void reshape(std::size_t bytes) {
    bytes_ = bytes;
    if (bytes <= capacity_) return;
    if (capacity_ > 0) library_.destroy(object_.get());
    library_.construct(object_.get(), bytes);
    capacity_ = bytes;
  }

  std::size_t bytes() const { return bytes_; }
  void* object() const { return object_.get(); }

 private:
  const Library& library_;
  Storage object_;
  std::size_t bytes_ = 0, capacity_ = 0;
};

}  // namespace

std::vector<std::size_t> small_sizes(std::size_t count) {
  std::vector<std::size_t> sizes;
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    sizes.push_back(64 + (state >> 33) % (4096 - 64 + 1));
  }
  return sizes;
}

double all_alive(const Library& library, const std::vector<std::size_t>& sizes) {
  std::vector<Storage> objects(sizes.size());
  const double start = now();
  for (std::size_t i = 0; i < sizes.size(); ++i) library.construct(objects[i].get(), sizes[i]);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    write_in_full(library, objects[i].get(), sizes[i], Access::kMutable);
  }
  for (const Storage& object : objects) library.destroy(object.get());
  return (now() - start) / static_cast<double>(sizes.size());
}

double one_by_one(const Library& library, const std::vector<std::size_t>& sizes) {
  Storage object;
  const double start = now();
  for (const std::size_t bytes : sizes) {
    library.construct(object.get(), bytes);
    write_in_full(library, object.get(), bytes, Access::kMutable);
    library.destroy(object.get());
  }
  return (now() - start) / static_cast<double>(sizes.size());
}

double hand_over(const Library& library, std::size_t bytes, int items, Access access, const std::vector<int>& cpus) {
  std::vector<Storage> objects(kUnderWay);
  Queue<void*> free, full;
  for (const Storage& object : objects) free.push(object.get());
  const auto work = [&](int thread) {
    for (int i = 0; i < items; ++i) {
      if (thread == 0) {
        void* object = free.pop();
        library.construct(object, bytes);
        write_in_full(library, object, bytes, access);
        full.push(object);
      } else {
        void* object = full.pop();
        read_in_full(library, object, bytes);
        library.destroy(object);
        free.push(object);
      }
    }
  };
  return together(2, cpus, nothing, work) / items;
}

double prefetch(const Library& library, const std::vector<std::size_t>& images, Access access,
                const std::vector<int>& cpus) {
  std::deque<GrowingBlob> blobs;
  Queue<GrowingBlob*> free, full;
  for (int i = 0; i < kUnderWay; ++i) {
    blobs.emplace_back(library);
    free.push(&blobs.back());
  }
  GrowingBlob top(library);
  const auto work = [&](int thread) {
    for (const std::size_t bytes : images) {
      if (thread == 0) {
        GrowingBlob* blob = free.pop();
        blob->reshape(bytes);
        write_in_full(library, blob->object(), bytes, access);
        full.push(blob);
      } else {
        GrowingBlob* blob = full.pop();
        top.reshape(blob->bytes());
        std::memcpy(to_write(library, top.object(), access), library.cpu_data(blob->object()), blob->bytes());
        free.push(blob);
      }
    }
  };
  return together(2, cpus, nothing, work) / static_cast<double>(images.size());
}
