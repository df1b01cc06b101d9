// A program on the stand-in, in two ways:
//
//   driver inside    the program uses blobs, and the stand-in's library uses their memory
//   driver across    the program calls SyncedMemory itself, as pycaffe and layers in other libraries do: one side
//                    constructs or allocates, the other uses and frees
//
// Either way makes 15 objects, 15 calls of cpu_data, 25 of mutable_cpu_data and 5 of set_cpu_data.
#include <cstdio>
#include <cstring>

#include "blob.hpp"

namespace {

// Below 2 MiB blocks come from malloc; above, they may be mappings.
constexpr std::size_t counts[] = {1, 1000, 100000, 1 << 19, (1 << 20) + 5};

bool inside(std::size_t count) {
  caffe::Blob blob(count), other(count), third(count);
  blob.fill(1);
  blob.fill(2);
  other.fill(5);
  other.share_data(blob);  // gives its own block up
  third.fill(2);
  const float sum = blob.sum();
  return other.sum() == sum && third.sum() == sum;
}

bool across(std::size_t count) {
  // Constructed and destroyed in the library, allocated in the program.
  caffe::Blob blob(count);
  float* values = static_cast<float*>(blob.data()->mutable_cpu_data());
  bool right = values[0] == 0 && values[count - 1] == 0;
  values[0] = 7;
  right = right && blob.sum() == 7;

  // Allocated in the library, freed by the program.
  caffe::Blob other(count);
  other.fill(5);
  blob.fill(1);
  other.data()->set_cpu_data(blob.data()->mutable_cpu_data());
  right = right && static_cast<const float*>(other.data()->cpu_data())[count - 1] == 1;

  // Constructed and destroyed in the program, allocated in the library.
  caffe::SyncedMemory mine(count * sizeof(float));
  caffe::fill(mine, 3);
  return right && static_cast<const float*>(mine.cpu_data())[count - 1] == 3;
}

}  // namespace

int main(int arguments, char** argument) {
  const bool reach_in = arguments > 1 && std::strcmp(argument[1], "across") == 0;
  bool right = true;
  for (std::size_t count : counts) right = (reach_in ? across(count) : inside(count)) && right;
  std::printf("driver %s\n", right ? "right" : "wrong");
  return right ? 0 : 1;
}
