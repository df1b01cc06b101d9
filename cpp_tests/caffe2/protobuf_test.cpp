// The header with protoc's classes of Caffe2's devices instead of its own.
#include "caffe2/support.hpp"

namespace {

using namespace caffe2;

TEST(Caffe2Messages, AContextTakesTheOptionOfProtobuf) {
  DeviceOption option;
  ASSERT_TRUE(option.ParseFromString(std::string("\x08\0\x18\x11", 4)));
  caffe2::CPUContext context(option), same(option);
  EXPECT_EQ(context.RandGenerator()(), same.RandGenerator()());
  option.set_device_type(CUDA);
  EXPECT_THROW(CPUContext refused(option), EnforceNotMet);
  option.set_cuda_gpu_id(3);
  EXPECT_EQ(CUDAContext(option).cuda_gpu_id(), 3);
}

}  // namespace
