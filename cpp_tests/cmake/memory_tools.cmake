# How programs become tests.

if(SYNCEDMEM_TESTS_VALGRIND)
  find_program(VALGRIND valgrind)
  if(NOT VALGRIND)
    message(FATAL_ERROR "valgrind was not found: install it, or configure with -DSYNCEDMEM_TESTS_VALGRIND=OFF")
  endif()
  # The library's tables are still reachable at exit: they live as long as the process. Pointers lead into the middle of Rust's
  # hash tables, which valgrind calls possibly lost.
  set(memcheck "${VALGRIND}" --tool=memcheck --quiet --error-exitcode=99 --leak-check=full
    --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect
    "--suppressions=${CMAKE_CURRENT_SOURCE_DIR}/support/leaks.valgrind")
endif()

# run_test(NAME LABEL PROGRAM [argument…])
function(run_test name label program)
  add_test(NAME ${name} COMMAND ${program} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT 120)
endfunction()

# tell(TEST TARGET…): defines the path of each target for the test, under the target's name in capitals.
function(tell test)
  foreach(target IN LISTS ARGN)
    string(TOUPPER ${target} name)
    string(REPLACE . _ name ${name})
    target_compile_definitions(${test} PRIVATE ${name}="$<TARGET_FILE:${target}>")
    add_dependencies(${test} ${target})
  endforeach()
endfunction()

# run_under_valgrind(NAME PROGRAM [argument…]). CTest starts tests with a high COST first, so that
# no processor is idle at the end.
function(run_under_valgrind name program)
  if(SYNCEDMEM_TESTS_VALGRIND)
    add_test(NAME valgrind.${name} COMMAND ${memcheck} $<TARGET_FILE:${program}> ${ARGN})
    set_tests_properties(valgrind.${name} PROPERTIES LABELS valgrind TIMEOUT 300 COST 10)
  endif()
endfunction()
