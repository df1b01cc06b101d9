#include "churn.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "clock.hpp"

namespace {

const std::size_t kPage = 4096;

void write(const Library& library, void* object, std::size_t bytes, Touch touch) {
  char* data = static_cast<char*>(library.mutable_cpu_data(object));
  if (touch == Touch::kFull) {
    std::memset(data, 0x5A, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += kPage) static_cast<volatile char*>(data)[at] = 1;
}

}  // namespace

double churn(const Library& library, const Net& net, Touch touch) {
  const std::size_t count = net.blobs.size();
  std::vector<Storage> shapes(count), data(count), gradients(count);
  const double start = now();
  for (std::size_t i = 0; i < count; ++i) {
    const NetBlob& blob = net.blobs[i];
    library.construct(shapes[i].get(), blob.axes * sizeof(int));
    write(library, shapes[i].get(), blob.axes * sizeof(int), Touch::kFull);
    library.construct(data[i].get(), blob.bytes);
    library.construct(gradients[i].get(), blob.bytes);
    if (blob.written_at_setup) write(library, data[i].get(), blob.bytes, touch);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!net.blobs[i].written_at_setup) write(library, data[i].get(), net.blobs[i].bytes, touch);
  }
  for (std::size_t i = 0; i < count; ++i) {
    library.destroy(gradients[i].get());
    library.destroy(data[i].get());
    library.destroy(shapes[i].get());
  }
  return now() - start;
}
