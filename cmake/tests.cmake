# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Tests. Everything is run by ctest; labels: unit, diff, stress, cli, embed, docs, peers, fuzz.
#
# Unit tests use internal symbols: they link the object files, not the shared libraries. All tests/unit/*/test_*.c
# are in two programs, one of them with native compilation: to link and to load LLVM takes time, and each
# test has a process of its own in any case (tests/unit/runner.c).

# Of tests with many cases by chance, one in so many runs. HIA_TEST_ALL: more of everything, at night.
set(test_share 4)
if(HIA_SANITIZE OR HIA_STRESS)
  set(test_share 16)
endif()
if(HIA_TEST_ALL)
  math(EXPR test_share "${test_share} / 4")
endif()
# Random programs and graphs: every configuration has its own seeds, and so its own programs.
set(random_programs 40)
if("thread" IN_LIST HIA_SANITIZE)
  set(random_seed 20002)
elseif(HIA_SANITIZE)
  set(random_seed 10001)
elseif(HIA_STRESS)
  set(random_seed 30003)
else()
  set(random_seed 1)
  set(random_programs 150)
endif()
if(HIA_TEST_ALL)
  math(EXPR random_programs "10 * ${random_programs}")
endif()
if(NOT DEFINED HIA_RANDOM_PROGRAMS) # how many random programs ctest runs; not cached, since HIA_TEST_ALL changes it
  set(HIA_RANDOM_PROGRAMS ${random_programs})
endif()
set(HIA_RANDOM_SEED ${random_seed} CACHE STRING "The seed of the first of them")

find_path(CRITERION_INCLUDE criterion/criterion.h)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/tests)

# Internal test programs link all objects except those that need LLVM, in an archive, so that a program
# contains only what it uses ...
add_library(hia_internal STATIC $<TARGET_OBJECTS:hia_rt_objects> $<TARGET_OBJECTS:hia_core_objects>)
target_link_libraries(hia_internal PUBLIC hia_flags ${CMAKE_DL_LIBS} ${HIA_FFI_LIBRARY})
# The code of the tests themselves is soon done, and takes three times as long to compile with sanitizers and optimised.
if(HIA_SANITIZE)
  target_compile_options(hia_internal INTERFACE $<$<COMPILE_LANGUAGE:C>:-O0>)
endif()
# The usual linker takes two seconds to read the symbols of LLVM for each program, gold, of the same package, a
# quarter of that.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=gold HIA_HAS_GOLD)
if(HIA_HAS_GOLD)
  target_link_options(hia_internal INTERFACE -fuse-ld=gold)
endif()
target_compile_definitions(hia_internal INTERFACE
  "HIA_TEST_DIR=\"${PROJECT_SOURCE_DIR}/tests\"" "HIA_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\""
  HIA_TEST_SHARE=${test_share} HIA_TEST_SEED=${HIA_RANDOM_SEED})
# ... and the same with native compilation linked in, for those that use it.
add_library(hia_internal_native INTERFACE)
target_link_libraries(hia_internal_native INTERFACE hia_internal)
if(HIA_LLVM)
  target_link_libraries(hia_internal_native INTERFACE hia_llvm_dependency)
  target_sources(hia_internal_native INTERFACE $<TARGET_OBJECTS:hia_llvm_objects>)
  target_include_directories(hia_internal_native SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
endif()

# The helpers of tests, in an archive, from which each program takes what it uses. Programs without
# Criterion link it, too; so helpers that assert with Criterion are in an archive of their own.
file(GLOB test_helpers CONFIGURE_DEPENDS tests/unit/helpers/*.c)
list(FILTER test_helpers EXCLUDE REGEX fake_openblas)
set(unit_helpers ${PROJECT_SOURCE_DIR}/tests/unit/helpers/counts.c)
list(REMOVE_ITEM test_helpers ${unit_helpers})
add_library(hia_test_helpers STATIC EXCLUDE_FROM_ALL ${test_helpers})
target_link_libraries(hia_test_helpers PUBLIC hia_internal)

# hia_test_program(NAME SOURCES...): a program without Criterion, with internal symbols and native compilation.
function(hia_test_program name)
  add_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE hia_test_helpers hia_internal_native)
endfunction()

# A library in the place of OpenBLAS, which may not be installed, and adds as the machine has it.
add_library(fake_openblas MODULE tests/unit/helpers/fake_openblas.c)
target_link_libraries(fake_openblas PRIVATE hia_flags)
set_target_properties(fake_openblas PROPERTIES PREFIX lib OUTPUT_NAME openblas SUFFIX .so.0
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/openblas)

# The unit tests have not been tried under ThreadSanitizer: there the drivers of the other folders run.
if(CRITERION_INCLUDE AND NOT "thread" IN_LIST HIA_SANITIZE)
  file(GLOB unit_tests CONFIGURE_DEPENDS tests/unit/*/test_*.c)
  add_library(hia_unit_helpers STATIC EXCLUDE_FROM_ALL ${unit_helpers})
  target_include_directories(hia_unit_helpers SYSTEM PRIVATE ${CRITERION_INCLUDE})
  target_link_libraries(hia_unit_helpers PUBLIC hia_test_helpers)
  foreach(program hia_unit hia_unit_native)
    add_executable(${program} tests/unit/runner.c ${hia_lanes})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_include_directories(${program} SYSTEM PRIVATE ${CRITERION_INCLUDE})
    # Criterion's macros are not written for these warnings; those around setjmp keep a string.
    target_compile_options(${program} PRIVATE -Wno-pedantic -Wno-missing-prototypes -Wno-conversion
      -Wno-strict-prototypes $<$<C_COMPILER_ID:GNU>:-Wno-clobbered>)
    target_compile_definitions(${program} PRIVATE "HIA_FAKE_BLAS=\"$<TARGET_FILE:fake_openblas>\"")
    add_dependencies(${program} fake_openblas)
  endforeach()
  target_link_libraries(hia_unit PRIVATE hia_unit_helpers)
  target_link_libraries(hia_unit_native PRIVATE hia_unit_helpers hia_internal_native)
  foreach(source IN LISTS unit_tests)
    get_filename_component(name ${source} NAME_WE)
    set(program hia_unit)
    if(name MATCHES "^test_(lower|engine|api)")
      set(program hia_unit_native)
    endif()
    if(name MATCHES "^test_lower" AND NOT HIA_LLVM)
      continue()
    endif()
    target_sources(${program} PRIVATE ${source})
    # The code of the tests themselves is soon done: optimised it takes twice as long to compile. Their helpers are
    # optimised, and test_handoff and test_phases, which try every interleaving.
    if(NOT name MATCHES "^test_(handoff|phases)$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O0)
    endif()
    # Called by this name a program has the tests of one source.
    file(CREATE_LINK ${program} ${PROJECT_BINARY_DIR}/tests/${name} SYMBOLIC)
    add_test(NAME unit.${name} COMMAND ${PROJECT_BINARY_DIR}/tests/${name})
    set_tests_properties(unit.${name} PROPERTIES LABELS unit)
  endforeach()
elseif(NOT "thread" IN_LIST HIA_SANITIZE)
  message(WARNING "Criterion was not found: the unit tests are left out (Debian: libcriterion-dev)")
endif()

# Of all tests the longest begin first, so that no core waits for the last one: COST is about the seconds
# that they take, here and in the other folders.
if(TEST unit.test_pass)
  set_tests_properties(unit.test_pass unit.test_engine_data unit.test_api_memory unit.test_engine_object unit.test_opt_refs
    unit.test_api_streams unit.test_api_streams_saved unit.test_api_streams_memory unit.test_api_life
    unit.test_engine_host unit.test_engine_fuel PROPERTIES COST 50)
endif()
if(TEST unit.test_lower)
  set_tests_properties(unit.test_lower unit.test_lower_scalar unit.test_lower_array unit.test_lower_data PROPERTIES COST 50)
endif()

find_program(HIA_PYTHON NAMES python3)
mark_as_advanced(HIA_PYTHON)
# The folders of the other kinds of test have their own rules.
foreach(kind diff stress fuzz cli embed cpp install docs mutants peers)
  add_subdirectory(${PROJECT_SOURCE_DIR}/tests/${kind} ${PROJECT_BINARY_DIR}/tests/${kind})
endforeach()
