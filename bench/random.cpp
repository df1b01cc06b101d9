#include "random.hpp"

#include <cstring>

#include "bench.hpp"
#include "clock.hpp"

RandomSizes::RandomSizes(const Library& library, Sizes sizes) : library_(library), sizes_(sizes), objects_(100) {}

std::size_t RandomSizes::number_below(std::size_t end) {
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  return (random_ >> 33) % end;
}

std::size_t RandomSizes::size() {
  if (sizes_ == Sizes::kEven) return 1 + number_below(kMiB);
  const std::size_t power = (4 * kKiB) << number_below(8);
  return power + number_below(power);
}

double RandomSizes::step() {
  const double start = now();
  for (int i = 0; i < kStep; ++i) {
    Object& object = objects_[number_below(objects_.size())];
    if (object.is_made) library_.destroy(object.storage.get());
    const std::size_t bytes = size();
    library_.construct(object.storage.get(), bytes);
    std::memset(library_.mutable_cpu_data(object.storage.get()), 0x5A, bytes);
    object.is_made = true;
  }
  return (now() - start) / kStep;
}
