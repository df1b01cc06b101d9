// CPUContext and the reporter.
#include <algorithm>
#include <cstring>

#include "caffe2/support.hpp"

namespace {

using namespace caffe2;

bool is_aligned(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % gCaffe2Alignment == 0; }

TEST(CPUContextTest, NewMemoryIsAlignedAndHoldsZeros) {
  for (const std::size_t bytes : {1u, 100u, 5000u, 1u << 20}) {
    auto block = CPUContext::New(bytes);
    const char* const data = static_cast<const char*>(block.first);
    EXPECT_TRUE(is_aligned(data)) << bytes;
    EXPECT_EQ(std::count(data, data + bytes, 0), static_cast<std::ptrdiff_t>(bytes));
    std::memset(block.first, 1, bytes);
    block.second(block.first);
  }
}

TEST(CPUContextTest, ACopyOfNoBytesLooksAtNoAddressAndAnotherRefusesNull) {
  CPUContext context;
  char byte = 0;
  EXPECT_NO_THROW((context.CopyBytes<CPUContext, CPUContext>(0, nullptr, nullptr)));
  EXPECT_THROW((context.CopyBytes<CPUContext, CPUContext>(1, nullptr, &byte)), EnforceNotMet);
  EXPECT_THROW((context.CopyBytes<CPUContext, CPUContext>(1, &byte, nullptr)), EnforceNotMet);
}

TEST(CPUContextTest, CopiesItemsByTheirType) {
  CPUContext context;
  const std::string from[2] = {"one", "a text that is too long to be inside of its object"};
  std::string to[2];
  context.Copy<std::string, CPUContext, CPUContext>(2, from, to);
  EXPECT_EQ(to[1], from[1]);
  std::string again[2];
  context.CopyItems<CPUContext, CPUContext>(TypeMeta::Make<std::string>(), 2, from, again);
  EXPECT_EQ(again[0], "one");
  const int numbers[2] = {3, 4};
  int copies[2] = {};
  context.CopyItems<CPUContext, CPUContext>(TypeMeta::Make<int>(), 2, numbers, copies);
  EXPECT_EQ(copies[1], 4);
}

TEST(CPUContextTest, AContextOfAnotherDeviceIsRefused) {
  DeviceOption option;
  option.set_device_type(CUDA);
  EXPECT_THROW(CPUContext context(option), EnforceNotMet);
}

TEST(CPUContextTest, OneSeedMakesOneSequence) {
  DeviceOption option;
  option.set_random_seed(17);
  CPUContext first(option), second(option);
  EXPECT_EQ(first.RandGenerator()(), second.RandGenerator()());
}

TEST(CPUContextTest, NoMemoryIsAnExceptionWithTheLibrarysSentence) {
  try {
    CPUContext::New(std::size_t{1} << 60);
    FAIL() << "there was memory";
  } catch (const EnforceNotMet& error) {
    EXPECT_EQ(error.status(), SYNCEDMEM_ERROR_OUT_OF_MEMORY);
    EXPECT_TRUE(contains(error.what(), "no address space holds that")) << error.what();
  }
}

// --- the reporter ---------------------------------------------------------------------------

TEST(MemoryAllocationReporterTest, ItsTotalIsTheLibrarysAccount) {
  syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_ON);
  const std::size_t before = MemoryAllocationReporter::Allocated();
  {
    TensorCPU tensor(std::vector<int>{1 << 20});
    tensor.mutable_data<float>();
    EXPECT_EQ(MemoryAllocationReporter::Allocated(), before + (4u << 20));
  }
  EXPECT_EQ(MemoryAllocationReporter::Allocated(), before);
}

TEST(MemoryAllocationReporterTest, WritesALineForEachAllocationIfAsked) {
  testing::internal::CaptureStderr();
  FLAGS_caffe2_report_cpu_memory_usage = true;
  {
    TensorCPU tensor(std::vector<int>{1 << 20});
    tensor.mutable_data<float>();
  }
  FLAGS_caffe2_report_cpu_memory_usage = false;
  {
    TensorCPU tensor(std::vector<int>{1 << 20});
    tensor.mutable_data<float>();
  }
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
  EXPECT_TRUE(contains(lines, "allocated")) << lines;
  EXPECT_TRUE(contains(lines, "freed")) << lines;
}

}  // namespace
