// The fixture of a test on a driver: device 0's primary context is current. At the end the simulated driver must have
// no allocation and no broken rule.
#ifndef SUPPORT_DEVICE_TEST_HPP
#define SUPPORT_DEVICE_TEST_HPP

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "support/driver.hpp"

/// Checks counters that a real driver lacks.
#define EXPECT_COUNTED(counted, expected)  \
  if (!driver::is_simulated()) {           \
  } else                                   \
    EXPECT_EQ(counted, expected)

/// Fixture of tests that make the driver fail, or hold its streams.
#define NEEDS_THE_SIMULATED_DRIVER() \
  if (!driver::is_simulated()) GTEST_SKIP() << "this needs the simulated driver"

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GT(driver::devices(), 0) << "run on a GPU, or with the simulated driver's folder in LD_LIBRARY_PATH";
    primary_.reset(new driver::Primary(0));
    current_.reset(new driver::Current(primary_->get()));
    before_ = driver::account();
    driver::clear_log();
  }

  void TearDown() override {
    if (!primary_ || !driver::is_simulated()) return;
    driver::simulator().clear_faults();
    driver::simulator().release_streams();
    const simcuda_account_t after = driver::account();
    EXPECT_EQ(after.device_blocks, before_.device_blocks) << driver::log();
    EXPECT_EQ(after.device_bytes, before_.device_bytes);
    EXPECT_EQ(after.pinned_blocks, before_.pinned_blocks);
    EXPECT_LE(after.streams, before_.streams) << driver::log();
    std::vector<char> text(100000);
    EXPECT_EQ(driver::simulator().violations(text.data(), text.size()), 0u) << text.data() << driver::log();
  }

 private:
  std::unique_ptr<driver::Primary> primary_;
  std::unique_ptr<driver::Current> current_;
  simcuda_account_t before_ = {};
};

#endif  // SUPPORT_DEVICE_TEST_HPP
