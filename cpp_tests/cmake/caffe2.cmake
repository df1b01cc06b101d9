# Caffe2's storage: syncedmem/caffe2.hpp.

add_device_suite(caffe2 bvlc_master caffe2/type_test.cpp caffe2/logging_test.cpp caffe2/context_test.cpp caffe2/tensor_test.cpp
  caffe2/blob_test.cpp caffe2/workspace_test.cpp caffe2/device_test.cpp)
run_test(caffe2.no_driver suite caffe2.O2.shared "--gtest_filter=-*GPU*:CUDA*")

# The header alone, and in code written for Caffe2, in two translation units.
add_header_program(caffe2.cxx11 -std=c++11 header/caffe2_alone.cpp)
add_header_program(caffe2.cxx20 -std=c++20 header/caffe2_alone.cpp)
add_header_program(caffe2.units -std=c++11 header/caffe2_compat.cpp header/unit.cpp)

# The header with protoc's classes, at the path of Caffe2's.
if(SYNCEDMEM_TESTS_PROTOBUF)
  add_protobuf_program(caffe2.protobuf caffe2/protobuf_test.cpp caffe2/messages caffe2/proto/caffe2)
endif()
