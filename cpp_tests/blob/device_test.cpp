// Blobs with a device: the shape there, memory of the caller's, and sums that the host computed.
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "support/device_test.hpp"
#include "syncedmem/blob.hpp"

namespace {

using syncedmem::Blob;
using syncedmem::SyncedMemory;

template <typename T>
std::vector<T> on_device(const T* address, int count) {
  const std::vector<unsigned char> bytes = driver::read(address, static_cast<std::size_t>(count) * sizeof(T));
  std::vector<T> values(static_cast<std::size_t>(count));
  if (bytes.size() == values.size() * sizeof(T)) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class BlobOnTheDevice : public DeviceTest {};

TEST_F(BlobOnTheDevice, HasItsShapeThere) {
  Blob<float> blob(2, 3, 4, 5);
  EXPECT_EQ(on_device(blob.gpu_shape(), 4), (std::vector<int>{2, 3, 4, 5}));
  blob.Reshape({6, 7});
  EXPECT_EQ(on_device(blob.gpu_shape(), 2), (std::vector<int>{6, 7}));
}

TEST_F(BlobOnTheDevice, BorrowsMemoryOfTheCallers) {
  Blob<float> blob({100});
  blob.Reshape({4});
  blob.mutable_cpu_diff()[3] = 7;
  const driver::Block mine(4 * sizeof(float));
  blob.set_gpu_data(static_cast<float*>(mine.data()));
  EXPECT_EQ(blob.gpu_data(), mine.data());
  EXPECT_EQ(blob.data()->head(), SyncedMemory::HEAD_AT_GPU);
  EXPECT_EQ(blob.cpu_diff()[3], 7);
  blob.Reshape({100});
  EXPECT_NE(blob.gpu_data(), mine.data());
}

TEST_F(BlobOnTheDevice, IsSummedOnTheHostWhereThereIsNoCublasAndCounted) {
  Blob<float> blob({4});
  blob.mutable_cpu_data()[1] = -5;
  const std::uint64_t before = syncedmem::blobs_computed_on_host();
  EXPECT_EQ(blob.asum_data(), 5);
  EXPECT_EQ(syncedmem::blobs_computed_on_host(), before) << "the data is at the host";
  blob.mutable_gpu_data();
  EXPECT_EQ(blob.asum_data(), 5);
  EXPECT_COUNTED(syncedmem::blobs_computed_on_host(), before + 1);
}

}  // namespace
