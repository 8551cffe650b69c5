# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Part of hiaton's CMake package.
#
#   hiaton_add_object(NAME FILE
#                     [FUNCTIONS FUNCTION...] [PREFIX PREFIX] [HEADER HEADER] [CPU CPU] [PARALLEL]
#                     [PARAMS PARAMS] [SEED SEED] [STATIC_RUNTIME] [OPTIONS OPTION...])
#
# A library target NAME with the functions of a program, compiled ahead of time by `hiaton build`:
#
#   hiaton_add_object(formulas formulas.hia)
#   target_link_libraries(host PRIVATE formulas)      # and in C: #include "formulas.h"
#
# It is a static library of one object. A target that links it finds the header, named HEADER or by
# default like FILE, and is linked to hiaton::runtime, or with STATIC_RUNTIME to
# hiaton::runtime_static. When FILE, PARAMS or hiaton changes, the object is made again, and the
# targets that link it are linked again.
#
# FUNCTIONS: `--fn` for each; without them all functions whose types are known. PREFIX, CPU and
# PARALLEL: as in docs/aot.md; the default CPU is that of the machine that builds. PARAMS: a
# safetensors or .npz file of the program's params, which the object holds; SEED: the number that it
# makes them from instead, a whole one from 0. PARAMS may be what another rule makes. OPTIONS: further words for `hiaton build`. Host functions that the program declares have to be defined by a
# target that links it: target_link_libraries(NAME INTERFACE library-that-has-them).
function(hiaton_add_object name file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "PARALLEL;STATIC_RUNTIME" "PREFIX;HEADER;CPU;PARAMS;SEED"
                        "FUNCTIONS;OPTIONS")
  if(DEFINED arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hiaton_add_object(${name}): `${arg_UNPARSED_ARGUMENTS}` is no option of it")
  endif()
  if(DEFINED arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "hiaton_add_object(${name}): ${arg_KEYWORDS_MISSING_VALUES} lacks a value")
  endif()
  hiaton_find_input(${name} file "${file}")
  set(inputs "${file}")
  if(DEFINED arg_PARAMS)
    hiaton_find_input(${name} arg_PARAMS "${arg_PARAMS}")
    list(APPEND inputs "${arg_PARAMS}")
  endif()
  get_filename_component(stem "${file}" NAME_WE)
  if(NOT DEFINED arg_HEADER)
    set(arg_HEADER "${stem}.h")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.hiaton")
  set(object "${folder}/${name}.o")
  set(header "${folder}/include/${arg_HEADER}")
  get_filename_component(header_folder "${header}" DIRECTORY)
  file(MAKE_DIRECTORY "${header_folder}")

  set(words "")
  foreach(function IN LISTS arg_FUNCTIONS)
    list(APPEND words --fn "${function}")
  endforeach()
  if(DEFINED arg_PREFIX)
    list(APPEND words --prefix "${arg_PREFIX}")
  endif()
  if(DEFINED arg_CPU)
    list(APPEND words --cpu "${arg_CPU}")
  endif()
  if(arg_PARALLEL)
    list(APPEND words --parallel)
  endif()
  if(DEFINED arg_PARAMS)
    list(APPEND words --params "${arg_PARAMS}")
  endif()
  if(DEFINED arg_SEED)
    list(APPEND words --seed "${arg_SEED}")
  endif()
  file(RELATIVE_PATH shown "${CMAKE_SOURCE_DIR}" "${file}")
  add_custom_command(OUTPUT "${object}" "${header}"
    COMMAND hiaton::program build "${file}" ${words} ${arg_OPTIONS} -o "${object}" --header "${header}"
    DEPENDS ${inputs} "$<TARGET_FILE:hiaton::program>"
    COMMENT "Building hiaton object ${shown}" VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set_source_files_properties("${header}" PROPERTIES GENERATED TRUE)

  add_library(${name} STATIC "${object}" "${header}")
  # The language of the linker, which CMake cannot find out for a library of objects alone.
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(language CXX)
  if("C" IN_LIST languages)
    set(language C)
  endif()
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE ${language})
  target_include_directories(${name} INTERFACE "$<BUILD_INTERFACE:${folder}/include>")
  set(runtime hiaton::runtime)
  if(arg_STATIC_RUNTIME)
    set(runtime hiaton::runtime_static)
  endif()
  target_link_libraries(${name} INTERFACE ${runtime})
endfunction()

# Sets a variable to the absolute path of a file of hiaton_add_object(NAME), which is there or is made
# by another rule of the folder.
function(hiaton_find_input name variable file)
  get_filename_component(file "${file}" ABSOLUTE)
  if(NOT EXISTS "${file}")
    get_source_file_property(is_made "${file}" GENERATED)
    if(NOT is_made)
      message(FATAL_ERROR "hiaton_add_object(${name}): there is no file ${file}")
    endif()
  endif()
  set(${variable} "${file}" PARENT_SCOPE)
endfunction()
