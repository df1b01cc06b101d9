# Each header compiled alone, by the standards that it promises, with warnings as errors.

# add_header_program(NAME STANDARD SOURCE…)
function(add_header_program name standard)
  add_executable(${name} ${ARGN})
  target_compile_options(${name} PRIVATE ${standard})
  target_link_libraries(${name} PRIVATE syncedmem::syncedmem)
  run_test(${name} header ${name})
endfunction()

# The option follows the one that CMake adds for the project's standard, and so takes precedence.
add_header_program(header.c99 -std=c99 header/alone.c)
add_header_program(header.c11 -std=c11 header/alone.c)
add_header_program(header.cxx11 -std=c++11 header/alone.cpp)
add_header_program(header.cxx20 -std=c++20 header/alone.cpp)
add_header_program(wrapper.cxx11 -std=c++11 header/wrapper_alone.cpp)
add_header_program(wrapper.cxx20 -std=c++20 header/wrapper_alone.cpp)
add_header_program(header.units "" header/units.cpp header/unit.cpp header/unit.c)
