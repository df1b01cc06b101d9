// Caffe's mode decides whether host memory is page-locked, however a Caffe gets into the process. PROBE_* are builds of
// lookalike/mode_probe.cpp; CAFFE_* are stand-ins for libcaffe.
#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "support/run.hpp"

namespace {

void expect(const Outcome& run, const std::string& output) {
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(run.output, output) << run;
  EXPECT_EQ(run.errors, "") << run;
}

/// Allocates blocks in both modes, and on a thread with another mode.
const std::string both_modes = " cpu block:100 block:100000 gpu block:100 block:100000 thread:100 cpu block:100000";
const std::string follows_the_mode =
    "block 100 pageable\nblock 100000 pageable\nblock 100 pinned\nblock 100000 pinned\nthread 100 pageable\n"
    "block 100000 pageable\n";
const std::string is_pageable =
    "block 100 pageable\nblock 100000 pageable\nblock 100 pageable\nblock 100000 pageable\nthread 100 pageable\n"
    "block 100000 pageable\n";

TEST(TheModeOfACaffe, ThatTheProgramIsLinkedWithIsFound) { expect(run(PROBE_LINKED + both_modes), follows_the_mode); }

TEST(TheModeOfACaffe, ThatWasOpenedAtRunTimeIsFound) {
  expect(run(PROBE_OPENS + (" open:" CAFFE_GPU + both_modes)), follows_the_mode);
}

// A Python program may make blocks before it imports caffe: the library looks again at the next large block.
TEST(TheModeOfACaffe, ThatIsOpenedAfterTheFirstBlocksIsFoundToo) {
  expect(run(PROBE_OPENS " block:100 block:300000 open:" CAFFE_GPU " gpu block:300000 block:100"),
         "block 100 pageable\nblock 300000 pageable\nblock 300000 pinned\nblock 100 pinned\n");
}

TEST(TheModeOfACaffe, ThatWasClosedAgainIsStillThereToAsk) {
  expect(run(PROBE_OPENS " open:" CAFFE_GPU " gpu block:100 close block:100 block:100000"),
         "block 100 pinned\nblock 100 pinned\nblock 100000 pinned\n");
}

TEST(TheModeOfACaffe, InsideTheProgramIsFoundIfTheProgramExportsIt) {
  expect(run(PROBE_EXPORTS + both_modes), follows_the_mode);
  expect(run(PROBE_EXPORTS_WHOLLY_STATIC + both_modes), follows_the_mode);
}

TEST(TheModeOfACaffe, InsideAProgramThatExportsNothingIsNotFoundAndMemoryIsPageable) {
  expect(run(PROBE_STATIC + both_modes), is_pageable);
}

TEST(TheModeOfACaffe, InsideAProgramThatExportsNothingIsToldByACallback) {
  expect(run(PROBE_CALLBACK + both_modes), follows_the_mode);
}

TEST(TheModeOfACaffe, OfBvlcWithCudnnIsWhereItIsWithout) {
  expect(run(PROBE_OPENS + (" open:" CAFFE_GPU_CUDNN + both_modes)), follows_the_mode);
}

TEST(TheModeOfACaffe, OfNvidiaWithCudnnIsBehindItsHandle) {
  expect(run(PROBE_OPENS + (" open:" CAFFE_NVIDIA_CUDNN + both_modes)), follows_the_mode);
}

TEST(TheModeOfACaffe, OfNvidiaWithoutCudnnIsWhereBvlcHasIt) {
  expect(run(PROBE_OPENS + (" open:" CAFFE_NVIDIA + both_modes)), follows_the_mode);
}

TEST(TheModeOfACaffe, OfNvidia0_16IsNotKnownAndMemoryIsPageable) {
  expect(run(PROBE_OPENS + (" open:" CAFFE_NVIDIA_0_16 + both_modes)), is_pageable);
}

TEST(TheModeOfACaffe, OfNvidiaFrom0_16_6OnIsOneForAllThreads) {
  expect(run(PROBE_OPENS " open:" CAFFE_NVIDIA_0_16_6 " block:100 thread:100 cpu block:100 thread:100 gets"),
         "block 100 pinned\nthread 100 pinned\nblock 100 pageable\nthread 100 pageable\ngets 0\n");
}

TEST(TheModeOfACaffe, ThatIsNeitherMeansPageable) {
  expect(run(PROBE_LINKED " set:2 block:100 set:-1 block:100 set:256 block:100 gpu block:100"),
         "block 100 pageable\nblock 100 pageable\nblock 100 pageable\nblock 100 pinned\n");
}

// Get() creates the thread's cuBLAS handle.
TEST(TheModeOfACaffe, IsAskedOnceForABlockAndForNothingElse) {
  expect(run(PROBE_LINKED " gpu gets block:100 gets c gets cxx gets"),
         "gets 1\nblock 100 pinned\ngets 1\nc SYNCEDMEM_SUCCESS\ngets 0\ncxx has memory\ngets 0\n");
}

TEST(TheModeOfACaffe, IsNotAskedWhereTheUserSaidWhatItIs) {
  const std::string gpu_mode_says_so = "gets 1\nblock 100 pageable\ngets 0\n";
  const std::string cpu_mode_says_so = "gets 1\nblock 100 pinned\ngets 0\n";
  expect(run(PROBE_LINKED " gpu gets ours:1 block:100 gets"), gpu_mode_says_so);
  expect(run(PROBE_LINKED " cpu gets ours:2 block:100 gets"), cpu_mode_says_so);
  expect(run(PROBE_LINKED " gpu gets block:100 gets", "SYNCEDMEM_MODE=cpu"), gpu_mode_says_so);
  expect(run(PROBE_LINKED " cpu gets block:100 gets", "SYNCEDMEM_MODE=gpu"), cpu_mode_says_so);
  expect(run(PROBE_LINKED " gpu gets block:100 gets", "SYNCEDMEM_PIN=never"), gpu_mode_says_so);
  expect(run(PROBE_LINKED " cpu gets block:100 gets", "SYNCEDMEM_PIN=always"), cpu_mode_says_so);
}

TEST(TheModeOfACaffe, IsAskedAgainWhenTheUserLeavesItToCaffe) {
  expect(run(PROBE_LINKED " gpu ours:1 block:100 ours:0 block:100"), "block 100 pageable\nblock 100 pinned\n");
}

TEST(ACpuOnlyCaffe, HasNoModeThatMatters) {
  expect(run(PROBE_OPENS " open:" CAFFE_CPU_ONLY " gpu gets block:100 block:100000 gets"),
         "gets 1\nblock 100 pageable\nblock 100000 pageable\ngets 0\n");
}

TEST(ACpuOnlyCaffe, DiesOfDeviceCallsWithCaffesWords) {
  const Outcome died = run(PROBE_OPENS " open:" CAFFE_CPU_ONLY " cxx");
  EXPECT_EQ(died.status, 128 + SIGABRT) << died;
  EXPECT_NE(died.errors.find("] Cannot use GPU in CPU-only Caffe: check mode."), std::string::npos) << died;
}

TEST(ACpuOnlyCaffe, LeavesTheCApiTheGpu) {
  expect(run(PROBE_OPENS " open:" CAFFE_CPU_ONLY " c"), "c SYNCEDMEM_SUCCESS\n");
}

TEST(AGpuCaffe, HasTheGpuThroughBothAbis) {
  expect(run(PROBE_LINKED " cxx c"), "cxx has memory\nc SYNCEDMEM_SUCCESS\n");
}

TEST(NoCaffeAtAll, HasTheGpuThroughBothAbisAndPageableMemory) {
  expect(run(PROBE_OPENS " block:100000 cxx c"), "block 100000 pageable\ncxx has memory\nc SYNCEDMEM_SUCCESS\n");
}

}  // namespace
