// CPUContext, allocators and the reporter.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

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

// --- allocators -----------------------------------------------------------------------------

/// Counts its blocks, which begin where malloc puts them, and itself.
struct Counting final : CPUAllocator {
  struct Numbers {
    int blocks = 0, made = 0, alive = 0;
  };
  explicit Counting(Numbers* numbers) : numbers(numbers) { ++numbers->alive; }
  ~Counting() override { --numbers->alive; }
  std::pair<void*, MemoryDeleter> New(std::size_t nbytes) override {
    Numbers* const counted = numbers;
    ++counted->blocks;
    ++counted->made;
    // An odd start, as no allocator of Caffe2's has: blocks are aligned all the same.
    char* const block = static_cast<char*>(std::malloc(nbytes + 1));
    return {block + 1, [counted](void* data) {
              --counted->blocks;
              std::free(static_cast<char*>(data) - 1);
            }};
  }
  Numbers* numbers;
};

class CPUAllocatorTest : public testing::Test {
 protected:
  void TearDown() override { SetCPUAllocator(nullptr); }
  Counting::Numbers numbers_;
};

TEST_F(CPUAllocatorTest, ServesTensorsAndContexts) {
  SetCPUAllocator(new Counting(&numbers_));
  {
    TensorCPU tensor(std::vector<int>{100});
    float* const items = tensor.mutable_data<float>();
    EXPECT_TRUE(is_aligned(items));
    EXPECT_EQ(items[99], 0.0f);
    EXPECT_EQ(numbers_.blocks, 1);
    auto block = CPUContext::New(64);
    EXPECT_TRUE(is_aligned(block.first));
    EXPECT_EQ(numbers_.blocks, 2);
    block.second(block.first);
  }
  EXPECT_EQ(numbers_.blocks, 0);
}

TEST_F(CPUAllocatorTest, AnExchangeAffectsLaterBlocksOnly) {
  Counting::Numbers later;
  SetCPUAllocator(new Counting(&numbers_));
  TensorCPU first(std::vector<int>{100}), second(std::vector<int>{100});
  first.mutable_data<float>()[99] = 1.0f;
  SetCPUAllocator(new Counting(&later));
  second.mutable_data<float>();
  EXPECT_EQ(numbers_.blocks, 1);
  EXPECT_EQ(later.blocks, 1);
  EXPECT_EQ(numbers_.alive, 1);
  EXPECT_EQ(first.data<float>()[99], 1.0f);
  first.FreeMemory();
  EXPECT_EQ(numbers_.blocks, 0);
  // Its last block is free, and so is it.
  EXPECT_EQ(numbers_.alive, 0);
  SetCPUAllocator(nullptr);
  second.FreeMemory();
  EXPECT_EQ(later.blocks, 0);
  EXPECT_EQ(later.alive, 0);
}

TEST_F(CPUAllocatorTest, IsTheOneThatWasSet) {
  auto* const counting = new Counting(&numbers_);
  SetCPUAllocator(counting);
  EXPECT_EQ(GetCPUAllocator(), counting);
  SetCPUAllocator(nullptr);
  EXPECT_NE(GetCPUAllocator(), counting);
  auto block = GetCPUAllocator()->New(7);
  EXPECT_TRUE(is_aligned(block.first));
  block.second(block.first);
}

TEST_F(CPUAllocatorTest, ItsExceptionIsTheCallers) {
  struct Refusing final : CPUAllocator {
    std::pair<void*, MemoryDeleter> New(std::size_t) override { throw std::length_error("the quota is used up"); }
  };
  SetCPUAllocator(new Refusing());
  TensorCPU tensor(std::vector<int>{100});
  EXPECT_EQ(sentence_of<std::length_error>([&] { tensor.mutable_data<float>(); }), "the quota is used up");
}

TEST_F(CPUAllocatorTest, NoMemoryIsAnExceptionWithTheLibrarysSentence) {
  struct Empty final : CPUAllocator {
    std::pair<void*, MemoryDeleter> New(std::size_t) override { return {nullptr, nullptr}; }
  };
  SetCPUAllocator(new Empty());
  TensorCPU tensor(std::vector<int>{100});
  try {
    tensor.mutable_data<float>();
    FAIL() << "there was memory";
  } catch (const EnforceNotMet& error) {
    EXPECT_EQ(error.status(), SYNCEDMEM_ERROR_OUT_OF_MEMORY);
    EXPECT_TRUE(contains(error.what(), "400")) << error.what();
  }
  EXPECT_EQ(tensor.size(), 100);
}

TEST_F(CPUAllocatorTest, MayUseCaffe2sOwn) {
  struct Wrapping final : CPUAllocator {
    std::pair<void*, MemoryDeleter> New(std::size_t nbytes) override { return own.New(nbytes); }
    DefaultCPUAllocator own;
  };
  SetCPUAllocator(new Wrapping());
  TensorCPU tensor(std::vector<int>{100});
  EXPECT_EQ(tensor.mutable_data<float>()[99], 0.0f);
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
