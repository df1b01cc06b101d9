# Stand-ins for libcaffe that have a mode, and programs that open or link them.

# add_caffe(NAME KIND DEFINITIONS)
function(add_caffe name kind definitions)
  add_library(${name} ${kind} lookalike/caffe.cpp)
  target_include_directories(${name} PUBLIC lookalike)
  target_compile_definitions(${name} PRIVATE ${definitions})
  # A library with unique symbols is never unmapped, and tests unmap some of these.
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

add_caffe(caffe_gpu SHARED "")
add_caffe(caffe_gpu_cudnn MODULE WITH_CUDNN)
add_caffe(caffe_nvidia MODULE NVIDIA)
add_caffe(caffe_nvidia_cudnn MODULE "NVIDIA;WITH_CUDNN")
add_caffe(caffe_nvidia_0_16 MODULE "NVIDIA;WITH_CUDNN;NVIDIA_0_16")
add_caffe(caffe_nvidia_0_16_6 MODULE "NVIDIA;WITH_CUDNN;NVIDIA_0_16_6")
add_caffe(caffe_cpu_only MODULE CPU_ONLY)
# A stand-in inside a program.
add_caffe(caffe_gpu_static OBJECT "")

# add_probe(NAME DEFINITIONS [linked library or option…])
function(add_probe name definitions)
  add_executable(probe.${name} lookalike/mode_probe.cpp)
  target_include_directories(probe.${name} PRIVATE lookalike)
  target_compile_definitions(probe.${name} PRIVATE ${definitions})
  target_link_libraries(probe.${name} PRIVATE ${ARGN} Threads::Threads ${CMAKE_DL_LIBS})
  tell(caffe_mode probe.${name})
endfunction()

add_executable(caffe_mode caffe_mode_test.cpp)
target_link_libraries(caffe_mode PRIVATE GTest::gtest_main Threads::Threads)
tell(caffe_mode caffe_gpu caffe_gpu_cudnn caffe_nvidia caffe_nvidia_cudnn caffe_nvidia_0_16 caffe_nvidia_0_16_6 caffe_cpu_only)

add_probe(opens "" syncedmem::syncedmem)
add_probe(linked LINKED caffe_gpu syncedmem::syncedmem)
add_probe(static LINKED syncedmem::syncedmem)
add_probe(exports LINKED syncedmem::syncedmem -rdynamic)
add_probe(exports_wholly_static LINKED syncedmem::static -rdynamic)
add_probe(callback LINKED syncedmem::syncedmem)
foreach(probe static exports exports_wholly_static callback)
  target_sources(probe.${probe} PRIVATE $<TARGET_OBJECTS:caffe_gpu_static>)
endforeach()
target_sources(probe.callback PRIVATE lookalike/mode_callback.cpp)

run_simulated(caffe_mode replacement caffe_mode)
