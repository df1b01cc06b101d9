// Blobs with a device: the shape on the device, the caller's memory, and the count of sums on the host.
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "support/device_test.hpp"
#include "syncedmem/blob.hpp"

namespace {

using syncedmem::Blob;
using syncedmem::SyncedMemory;

class BlobOnTheDevice : public DeviceTest {};

TEST_F(BlobOnTheDevice, HasItsShapeThere) {
  Blob<float> blob(2, 3, 4, 5);
  const std::vector<unsigned char> bytes = driver::read(blob.gpu_shape(), 4 * sizeof(int));
  ASSERT_EQ(bytes.size(), 4 * sizeof(int));
  EXPECT_EQ(std::memcmp(bytes.data(), blob.shape().data(), bytes.size()), 0);
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
  const std::uint64_t before = syncedmem::blobs_computed_on_host();
  blob.asum_data();
  EXPECT_COUNTED(syncedmem::blobs_computed_on_host(), before + 1);
  blob.Reshape({100});
  EXPECT_NE(blob.gpu_data(), mine.data());
}

}  // namespace
