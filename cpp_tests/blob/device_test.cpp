// Blobs with a device: the side of copies and sums, the shape on the device, and memory of the caller's there.
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

// Mend: Caffe rewrites it, page-locked in GPU mode, at each Reshape.
TEST_F(BlobOnTheDevice, HasNoShapeThereBeforeItIsAsked) {
  Blob<float> blob(2, 3, 4, 5);
  blob.gpu_data();
  driver::clear_log();
  for (int i = 1; i < 5; ++i) blob.Reshape({i, 2});
  EXPECT_COUNTED(driver::calls(nullptr), 0u) << driver::log();
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

// Mend: Caffe copies on the device or on the host by its mode.
TEST_F(BlobOnTheDevice, IsCopiedWhereTheSourceIsCurrent) {
  Blob<float> from({4}), to({4});
  from.mutable_cpu_data()[1] = 5;
  driver::clear_log();
  to.CopyFrom(from);
  EXPECT_COUNTED(driver::calls(nullptr), 0u) << driver::log();
  EXPECT_EQ(to.data()->head(), SyncedMemory::HEAD_AT_CPU);
  from.mutable_gpu_data();
  to.CopyFrom(from);
  EXPECT_EQ(to.data()->head(), SyncedMemory::HEAD_AT_GPU);
  EXPECT_EQ(from.data()->head(), SyncedMemory::HEAD_AT_GPU);
  EXPECT_EQ(to.cpu_data()[1], 5);
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

TEST_F(BlobOnTheDevice, SharesItsDeviceMemory) {
  Blob<double> one({8}), two({2, 4});
  double* device = one.mutable_gpu_data();
  two.ShareData(one);
  EXPECT_EQ(two.gpu_data(), device);
}

}  // namespace
