# The CUDA drivers that tests run on: the simulated one, or none.

find_program(SYNCEDMEM_CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin" DOC "The cargo to build with")
if(NOT SYNCEDMEM_CARGO)
  message(FATAL_ERROR "cargo was not found: it builds the simulated driver. Name it with -DSYNCEDMEM_CARGO=…")
endif()
# The simulated driver is built in the library's Cargo folder, as by other tests; an installed library has none.
set(simulated_cargo_dir "${CMAKE_CURRENT_BINARY_DIR}/simulated_driver/cargo")
if(SYNCEDMEM_CARGO_DIR)
  set(simulated_cargo_dir "${SYNCEDMEM_CARGO_DIR}")
endif()
# This folder is in the tests' LD_LIBRARY_PATH.
set(simulated_driver_dir "${CMAKE_CURRENT_BINARY_DIR}/simulated_driver/lib")
file(MAKE_DIRECTORY "${simulated_driver_dir}")
add_custom_target(simulated_driver ALL
  COMMAND "${SYNCEDMEM_CARGO}" build --locked --package simulated-cuda --target-dir "${simulated_cargo_dir}"
    --manifest-path "${CMAKE_CURRENT_SOURCE_DIR}/../Cargo.toml"
  COMMAND "${CMAKE_COMMAND}" -E create_symlink "${simulated_cargo_dir}/debug/libcuda.so"
    "${simulated_driver_dir}/libcuda.so.1"
  COMMENT "Building the simulated driver with cargo"
  USES_TERMINAL VERBATIM)
include_directories("${CMAKE_CURRENT_SOURCE_DIR}/../crates/simulated-cuda/include")

# on_the_simulated_driver(TEST…): these tests find the simulated driver.
function(on_the_simulated_driver)
  foreach(test IN LISTS ARGN)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=${simulated_driver_dir}")
    set_property(TEST ${test} APPEND PROPERTY LABELS simulated)
  endforeach()
endfunction()

# run_simulated(NAME LABEL PROGRAM [argument…]): run_test on the simulated driver
function(run_simulated name label program)
  run_test(${name} ${label} ${program} ${ARGN})
  on_the_simulated_driver(${name})
endfunction()

# without_a_driver(): all other tests find no driver; the driver of a machine that has one shows no device.
function(without_a_driver)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    get_property(labels TEST ${test} PROPERTY LABELS)
    if(NOT "simulated" IN_LIST labels)
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "CUDA_VISIBLE_DEVICES=" "SYNCEDMEM_TESTS_NO_DRIVER=1")
      set_property(TEST ${test} APPEND PROPERTY LABELS no_driver)
    endif()
  endforeach()
endfunction()
