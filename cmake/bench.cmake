# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# The benchmark harness: it uses the public API alone, and the same programs in C, compiled by each compiler
# that is found. The references have their own flags in every build. Each is built BENCH_PLACES
# times (harness.h).
find_program(HIA_CLANG NAMES clang-19)
find_program(HIA_GCC NAMES gcc-12 gcc)
find_program(HIA_GXX NAMES g++-12 g++)

set(references "")
set(reference_definitions "")
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
foreach(compiler clang gcc)
  string(TOUPPER ${compiler} COMPILER)
  if(HIA_${COMPILER})
    foreach(place 0 1 2 3)
      set(object ${PROJECT_BINARY_DIR}/bench/reference_${compiler}_${place}.o)
      add_custom_command(OUTPUT ${object}
        COMMAND ${HIA_${COMPILER}} -std=c11 -O3 -fPIE -DPREFIX=${compiler}${place}_ -DPLACE=${place}
                -c ${PROJECT_SOURCE_DIR}/bench/reference.c -o ${object}
        DEPENDS ${PROJECT_SOURCE_DIR}/bench/reference.c
        COMMENT "Building bench/reference_${compiler}_${place}.o" VERBATIM)
      list(APPEND references ${object})
    endforeach()
    set(object ${PROJECT_BINARY_DIR}/bench/reference_map_${compiler}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${HIA_${COMPILER}} -std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno -fPIE
              -DPREFIX=${compiler}_ -c ${PROJECT_SOURCE_DIR}/bench/reference_map.c -o ${object}
      DEPENDS ${PROJECT_SOURCE_DIR}/bench/reference_map.c
      COMMENT "Building bench/reference_map_${compiler}.o" VERBATIM)
    list(APPEND references ${object})
    list(APPEND reference_definitions HIA_HAS_${COMPILER}=1)
    if(compiler STREQUAL clang)
      list(APPEND reference_definitions "HIA_CLANG_PROGRAM=\"${HIA_CLANG}\"")
    endif()
  endif()
endforeach()
set(object ${PROJECT_BINARY_DIR}/bench/reference_peak.o)
add_custom_command(OUTPUT ${object}
  COMMAND ${CMAKE_C_COMPILER} -std=gnu11 -O3 -march=native -ffp-contract=fast -fPIE
          -c ${PROJECT_SOURCE_DIR}/bench/reference_peak.c -o ${object}
  DEPENDS ${PROJECT_SOURCE_DIR}/bench/reference_peak.c
  COMMENT "Building bench/reference_peak.o" VERBATIM)
list(APPEND references ${object})
if(HIA_GCC)
  find_path(HIA_SLEEF_INCLUDE sleef.h)
  find_library(HIA_SLEEF sleef)
  set(sleef "")
  if(HIA_SLEEF AND HIA_SLEEF_INCLUDE)
    set(sleef -DHIA_SLEEF -isystem ${HIA_SLEEF_INCLUDE})
  endif()
  set(object ${PROJECT_BINARY_DIR}/bench/reference_loops.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${HIA_GCC} -std=gnu11 -O3 -march=native -mprefer-vector-width=512 -ffast-math -fPIE
            -I${PROJECT_SOURCE_DIR} ${sleef} -c ${PROJECT_SOURCE_DIR}/bench/reference_loops.c -o ${object}
    DEPENDS ${PROJECT_SOURCE_DIR}/bench/reference_loops.c ${PROJECT_SOURCE_DIR}/bench/reference_loops.h
    COMMENT "Building bench/reference_loops.o" VERBATIM)
  list(APPEND references ${object})
endif()
set_source_files_properties(${references} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)

# Parallel peers are programs of their own: two implementations of OpenMP do not fit into one process,
# and their threads spin. A peer whose compiler or library is not installed is left out, and the
# benchmark prints that. Each run of CMake checks again, so it is enough to install it.
set(peers "")
function(hia_peer NAME COMPILER SOURCE PROBE)
  if(NOT ${COMPILER})
    return()
  endif()
  set(probe ${PROJECT_BINARY_DIR}/bench/probe_${NAME})
  get_filename_component(suffix ${SOURCE} EXT)
  file(WRITE ${probe}${suffix} "${PROBE}\n")
  execute_process(COMMAND ${${COMPILER}} ${probe}${suffix} -o ${probe} ${ARGN}
                  RESULT_VARIABLE is_missing OUTPUT_QUIET ERROR_QUIET)
  file(REMOVE ${probe}${suffix} ${probe})
  if(is_missing)
    message(STATUS "No peer ${NAME} in the benchmarks: ${${COMPILER}} ${ARGN} does not build")
    return()
  endif()
  set(program ${PROJECT_BINARY_DIR}/bench/peer_${NAME})
  add_custom_command(OUTPUT ${program}
    COMMAND ${${COMPILER}} -O3 ${PROJECT_SOURCE_DIR}/bench/${SOURCE} -o ${program} ${ARGN}
    DEPENDS ${PROJECT_SOURCE_DIR}/bench/${SOURCE} COMMENT "Building bench/peer_${NAME}" VERBATIM)
  set(peers ${peers} ${program} PARENT_SCOPE)
endfunction()
hia_peer(libgomp HIA_GCC reference_omp.c
         "#include <omp.h>\nint main(void) { return !omp_get_max_threads(); }" -fopenmp)
hia_peer(libomp HIA_CLANG reference_omp.c
         "#include <omp.h>\nint main(void) { return !omp_get_max_threads(); }" -fopenmp)
hia_peer(tbb HIA_GXX reference_tbb.cpp
         "#include <tbb/version.h>\nint main() { return !TBB_runtime_version(); }" -ltbb)
hia_peer(data_cpp HIA_GXX reference_data.cpp
         "#include <string_view>\nint main() { return int(std::string_view().size()); }")
hia_peer(small HIA_GXX reference_small.cpp "int main() { return 0; }" -march=native)
# The models of examples/models by hand. Debian's package of OpenBLAS has no name for the linker.
hia_peer(models HIA_GXX peers/models.cpp
         "extern \"C\" char *openblas_get_config();\nint main() { return !openblas_get_config(); }"
         -march=native -mprefer-vector-width=512 -ffast-math -I${PROJECT_SOURCE_DIR}/bench/peers
         -l:libopenblas.so.0)
hia_peer(likelihood HIA_GCC peers/likelihood.c "int main(void) { return 0; }" -march=native -lm)
hia_peer(brackets HIA_GCC reference_brackets.c "int main(void) { return 0; }")

# OCaml's compiler writes next to its source.
find_program(HIA_OCAMLOPT ocamlopt)
if(HIA_OCAMLOPT)
  set(folder ${PROJECT_BINARY_DIR}/bench/ocaml)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/bench/peer_data_ocaml
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/bench/reference_data.ml ${folder}
    COMMAND ${HIA_OCAMLOPT} -O3 ${folder}/reference_data.ml
            -o ${PROJECT_BINARY_DIR}/bench/peer_data_ocaml
    DEPENDS ${PROJECT_SOURCE_DIR}/bench/reference_data.ml COMMENT "Building bench/peer_data_ocaml"
    VERBATIM)
  list(APPEND peers ${PROJECT_BINARY_DIR}/bench/peer_data_ocaml)
endif()
# Its bytecode is one file with the interpreter.
find_program(HIA_OCAMLC ocamlc)
if(HIA_OCAMLC)
  set(folder ${PROJECT_BINARY_DIR}/bench/bytecode)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/bench/peer_data_bytecode
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/bench/reference_data.ml ${folder}
    COMMAND ${HIA_OCAMLC} -custom ${folder}/reference_data.ml
            -o ${PROJECT_BINARY_DIR}/bench/peer_data_bytecode
    DEPENDS ${PROJECT_SOURCE_DIR}/bench/reference_data.ml COMMENT "Building bench/peer_data_bytecode"
    VERBATIM)
  list(APPEND peers ${PROJECT_BINARY_DIR}/bench/peer_data_bytecode)
endif()

# Haskell is no package of `./dev`: it is large. A GHC without one of these libraries is left out.
find_program(HIA_GHC ghc)
if(HIA_GHC)
  set(folder ${PROJECT_BINARY_DIR}/bench/haskell)
  file(MAKE_DIRECTORY ${folder})
  if(NOT HIA_GHC_BUILDS)
    file(WRITE ${folder}/probe.hs "import Data.Array.ST ()\nimport Data.ByteString.Char8 ()\nimport Data.Map.Strict ()\nmain :: IO ()\nmain = return ()\n")
    execute_process(COMMAND ${HIA_GHC} -outputdir ${folder} ${folder}/probe.hs -o ${folder}/probe
                    RESULT_VARIABLE is_missing OUTPUT_QUIET ERROR_QUIET)
    file(GLOB leftovers ${folder}/*)
    file(REMOVE ${leftovers})
    if(is_missing)
      message(STATUS "No Haskell in the benchmarks: ${HIA_GHC} does not build")
    else()
      set(HIA_GHC_BUILDS TRUE CACHE INTERNAL "") # the compiler takes a second
    endif()
  endif()
endif()
if(HIA_GHC AND HIA_GHC_BUILDS)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/bench/peer_data_haskell
    COMMAND ${HIA_GHC} -v0 -O2 -outputdir ${folder} ${PROJECT_SOURCE_DIR}/bench/reference_data.hs
            -o ${PROJECT_BINARY_DIR}/bench/peer_data_haskell
    DEPENDS ${PROJECT_SOURCE_DIR}/bench/reference_data.hs
    COMMENT "Building bench/peer_data_haskell" VERBATIM)
  list(APPEND peers ${PROJECT_BINARY_DIR}/bench/peer_data_haskell)
endif()
add_custom_target(bench_peers DEPENDS ${peers})

# bench/NAME.c is the program behind `./dev bench NAME`.
file(GLOB bench_programs CONFIGURE_DEPENDS bench/*.c)
list(FILTER bench_programs EXCLUDE REGEX "/(batches|choosing|defaults|gradients|harness|inputs|likelihood|limits_large|networks|peers|treebank|weights|work|accuracy|lanes[^/]*|reference[^/]*|sides|step|threads|torch|tree_shapes)\\.c$")
foreach(source IN LISTS bench_programs)
  get_filename_component(name ${source} NAME_WE)
  add_executable(bench_${name} ${source} bench/harness.c ${references})
  set_target_properties(bench_${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_compile_definitions(bench_${name} PRIVATE ${reference_definitions}
    "HIA_EXAMPLES=\"${PROJECT_SOURCE_DIR}/examples\"" "HIA_BENCH=\"${PROJECT_SOURCE_DIR}/bench\""
    "HIA_PEERS=\"${PROJECT_BINARY_DIR}/bench\"" "HIA_PROGRAM=\"$<TARGET_FILE:hiaton_program>\"")
  target_link_libraries(bench_${name} PRIVATE hia_flags hiaton m)
  if(HIA_GCC AND HIA_SLEEF AND HIA_SLEEF_INCLUDE)
    target_link_libraries(bench_${name} PRIVATE -Wl,--as-needed ${HIA_SLEEF})
  endif()
  add_dependencies(bench_${name} hiaton_program bench_peers ${hia_plugin})
endforeach()
target_sources(bench_data PRIVATE bench/treebank.c)
target_sources(bench_limits PRIVATE bench/limits_large.c)
foreach(name batch decisions models train)
  target_sources(bench_${name} PRIVATE bench/decisions/models.c bench/inputs.c bench/likelihood.c
    bench/networks.c bench/peers.c bench/treebank.c bench/weights.c bench/work.c)
  if(HIA_GXX)
    target_compile_definitions(bench_${name} PRIVATE "HIA_GXX_PROGRAM=\"${HIA_GXX}\"")
  endif()
endforeach()
target_sources(bench_speculate PRIVATE bench/choosing.c bench/sides.c bench/networks.c bench/treebank.c bench/weights.c)
target_sources(bench_batch PRIVATE bench/batches.c bench/control/control.c bench/control/oracle.c
  bench/control/programs.c bench/threads.c bench/torch.c bench/tree_shapes.c)
target_sources(bench_models PRIVATE bench/defaults.c)
target_sources(bench_train PRIVATE bench/batches.c bench/gradients.c bench/step.c)
target_link_libraries(bench_products PRIVATE hiaton_rt ${CMAKE_DL_LIBS})

# Errors and speed of the elementary functions, which it contains itself.
add_executable(bench_accuracy bench/accuracy.c ${hia_lanes} runtime/base/elementary.c
  runtime/base/elementary_far.c runtime/base/library.c runtime/base/clock.c)
set_target_properties(bench_accuracy PROPERTIES OUTPUT_NAME accuracy
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
target_link_libraries(bench_accuracy PRIVATE hia_flags)
