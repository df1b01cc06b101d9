// The device's context and tensors in C++: the side that each copy goes to. tests/caffe2/device_tensors.rs has the rules.
#include "caffe2/support.hpp"

namespace {

using namespace caffe2;
using std::vector;

TEST(CUDAContextTest, CopiesBytesBetweenTheSides) {
  const int written[4] = {1, 2, 3, 4};
  int read[4] = {};
  syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_ON);
  const std::size_t before = MemoryAllocationReporter::Allocated();
  auto first = CUDAContext::New(sizeof written), second = CUDAContext::New(sizeof written);
  CUDAContext context(0);
  context.SwitchToDevice();
  CPUContext host;
  context.CopyBytes<CPUContext, CUDAContext>(sizeof written, written, first.first);
  context.CopyBytes<CUDAContext, CUDAContext>(sizeof written, first.first, second.first);
  host.CopyBytes<CUDAContext, CPUContext>(sizeof written, second.first, read);
  EXPECT_EQ(read[3], 4);
  EXPECT_EQ(MemoryAllocationReporter::Allocated(), before + 2 * sizeof written);
  first.second(first.first);
  second.second(second.first);
  EXPECT_EQ(MemoryAllocationReporter::Allocated(), before);
}

TEST(TensorGPUTest, IsCopiedToTheDeviceAndBack) {
  TensorCPU host(vector<int>{2, 3});
  for (int at = 0; at < 6; ++at) host.mutable_data<float>()[at] = static_cast<float>(at);
  CUDAContext context;
  TensorCUDA device(host, &context);
  EXPECT_EQ(device.dims(), host.dims());
  EXPECT_TRUE(device.IsType<float>());
  TensorCUDA second, shared(vector<int>{6});
  second.CopyFrom(device);
  TensorCPU back(second);
  EXPECT_EQ(back.data<float>()[5], 5.0f);
  shared.ShareData(second);
  EXPECT_EQ(shared.mutable_data<float>(), second.data<float>());
  EXPECT_THROW(TensorCUDA().data<float>(), EnforceNotMet);
}

}  // namespace
