# Caffe's Blob: syncedmem/blob.hpp.

add_device_suite(blob bvlc_master blob/rules_test.cpp blob/device_test.cpp)
run_test(blob.no_driver device blob.O2.shared "--gtest_filter=-BlobOnTheDevice.*")

# With the classes of protoc. Its own sources are compiled without the warnings of this project.
if(SYNCEDMEM_TESTS_PROTOBUF)
  find_package(Protobuf REQUIRED)
  protobuf_generate_cpp(message_sources message_headers blob/messages.proto)
  set_source_files_properties(${message_sources} PROPERTIES COMPILE_OPTIONS -w)
  add_executable(blob.protobuf blob/messages_test.cpp ${message_sources} ${message_headers})
  target_include_directories(blob.protobuf SYSTEM PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
  target_link_libraries(blob.protobuf PRIVATE syncedmem::syncedmem protobuf::libprotobuf GTest::gtest_main Threads::Threads)
  run_test(blob.protobuf suite blob.protobuf)
  run_under_valgrind(blob.protobuf blob.protobuf)
endif()

# The header alone, and as code written for Caffe includes it.
add_header_program(blob.cxx11 -std=c++11 header/blob_alone.cpp)
add_header_program(blob.cxx20 -std=c++20 header/blob_alone.cpp)
add_header_program(blob.compat -std=c++11 header/blob_compat.cpp)
