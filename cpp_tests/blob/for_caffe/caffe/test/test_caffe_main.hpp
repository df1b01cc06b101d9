// Replaces caffe/test/test_caffe_main.hpp: the types for which Caffe's own tests run.
#ifndef FOR_CAFFE_TEST_CAFFE_MAIN_HPP
#define FOR_CAFFE_TEST_CAFFE_MAIN_HPP

#include <gtest/gtest.h>

#include "caffe/blob.hpp"

namespace caffe {

template <typename Type, Caffe::Brew where>
struct Device {
  typedef Type Dtype;
  static const Caffe::Brew device = where;
};

typedef ::testing::Types<float, double> TestDtypes;
typedef ::testing::Types<Device<float, Caffe::CPU>, Device<double, Caffe::CPU>, Device<float, Caffe::GPU>,
                         Device<double, Caffe::GPU>>
    TestDtypesAndDevices;

template <typename TypeParam>
class MultiDeviceTest : public ::testing::Test {};

}  // namespace caffe

#endif  // FOR_CAFFE_TEST_CAFFE_MAIN_HPP
