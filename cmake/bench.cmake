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
set_source_files_properties(${references} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)

# bench/NAME.c is the program behind `./dev bench NAME`.
file(GLOB bench_programs CONFIGURE_DEPENDS bench/*.c)
list(FILTER bench_programs EXCLUDE REGEX "/(harness|reference)\\.c$")
foreach(source IN LISTS bench_programs)
  get_filename_component(name ${source} NAME_WE)
  add_executable(bench_${name} ${source} bench/harness.c ${references})
  set_target_properties(bench_${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_compile_definitions(bench_${name} PRIVATE ${reference_definitions}
    "HIA_EXAMPLES=\"${PROJECT_SOURCE_DIR}/examples\""
    "HIA_PROGRAM=\"$<TARGET_FILE:hiaton_program>\"")
  target_link_libraries(bench_${name} PRIVATE hia_flags hiaton)
  add_dependencies(bench_${name} hiaton_program ${hia_plugin})
endforeach()
