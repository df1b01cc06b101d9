// A program that uses blobs of the stand-in, whose library uses their memory. tests/install/aarch64 runs it.
#include <cstdio>

#include "blob.hpp"

namespace {

// Below 2 MiB blocks come from malloc; above, they may be mappings.
constexpr std::size_t counts[] = {1, 1000, 100000, 1 << 19, (1 << 20) + 5};

bool inside(std::size_t count) {
  caffe::Blob blob(count), other(count), third(count);
  blob.fill(1);
  blob.fill(2);
  other.fill(5);
  other.share_data(blob);  // releases its own block
  third.fill(2);
  const float sum = blob.sum();
  return other.sum() == sum && third.sum() == sum;
}

}  // namespace

int main() {
  bool right = true;
  for (std::size_t count : counts) right = inside(count) && right;
  std::printf("driver %s\n", right ? "right" : "wrong");
  return right ? 0 : 1;
}
