# The benchmark harness: public API only, beside the same programs in C as each compiler at hand makes
# them. The references keep their own flags, whatever this build is.
find_program(HIA_CLANG NAMES clang-19)
find_program(HIA_GCC NAMES gcc-12 gcc)

set(references "")
set(reference_definitions "")
foreach(compiler clang gcc)
  string(TOUPPER ${compiler} COMPILER)
  if(HIA_${COMPILER})
    set(object ${PROJECT_BINARY_DIR}/bench/reference_${compiler}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${HIA_${COMPILER}} -std=c11 -O3 -fPIE -DPREFIX=${compiler}_ -c
              ${PROJECT_SOURCE_DIR}/bench/reference.c -o ${object}
      DEPENDS ${PROJECT_SOURCE_DIR}/bench/reference.c
      COMMENT "Building bench/reference_${compiler}.o" VERBATIM)
    list(APPEND references ${object})
    list(APPEND reference_definitions HIA_HAS_${COMPILER}=1)
  endif()
endforeach()

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
add_executable(bench_scalar bench/scalar.c bench/harness.c ${references})
set_target_properties(bench_scalar PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
set_source_files_properties(${references} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
target_compile_definitions(bench_scalar PRIVATE ${reference_definitions}
  "HIA_EXAMPLES=\"${PROJECT_SOURCE_DIR}/examples\"" "HIA_PROGRAM=\"$<TARGET_FILE:hiaton_program>\"")
target_link_libraries(bench_scalar PRIVATE hia_flags hiaton)
add_dependencies(bench_scalar hiaton_program)
if(hia_plugin)
  add_dependencies(bench_scalar ${hia_plugin})
endif()
