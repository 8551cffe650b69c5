# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# libhiaton_llvm with LLVM inside: what it uses of LLVM's archives, the target of this machine alone. Opening it takes half the
# memory of libLLVM.so and two thirds of the time, since it has fewer addresses to set. Sets HIA_LLVM_FILES; empty: the
# archives are not installed, or not what they need.
set(HIA_LLVM_FILES "")
find_program(HIA_LLVM_CONFIG NAMES llvm-config-19 llvm-config HINTS ${LLVM_TOOLS_BINARY_DIR})
find_library(HIA_STDCXX NAMES stdc++ libstdc++.so.6) # no C++ compiler need be installed
find_library(HIA_ZSTD NAMES zstd libzstd.so.1)
find_library(HIA_ZLIB NAMES z libz.so.1)
mark_as_advanced(HIA_LLVM_CONFIG HIA_STDCXX HIA_ZSTD HIA_ZLIB)
if(HIA_LLVM_CONFIG AND HIA_STDCXX AND HIA_ZSTD AND HIA_ZLIB)
  execute_process(COMMAND ${HIA_LLVM_CONFIG} --link-static --libfiles x86 passes irreader linker core
    OUTPUT_VARIABLE files OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE wrong)
  separate_arguments(files UNIX_COMMAND "${files}")
  foreach(file IN LISTS files)
    if(NOT EXISTS ${file})
      set(wrong yes)
    endif()
  endforeach()
  if(NOT wrong AND files)
    set(HIA_LLVM_FILES ${files} ${HIA_STDCXX} ${HIA_ZSTD} ${HIA_ZLIB} m ${CMAKE_DL_LIBS})
  endif()
endif()

# hia_link_archives(TARGET): links them into it, without what it does not use.
function(hia_link_archives target)
  include(CheckLinkerFlag)
  target_link_libraries(${target} PRIVATE -Wl,--start-group ${HIA_LLVM_FILES} -Wl,--end-group)
  target_link_options(${target} PRIVATE "LINKER:--gc-sections" "LINKER:--exclude-libs,ALL")
  check_linker_flag(C "LINKER:-z,pack-relative-relocs" HIA_HAS_PACKED_RELOCATIONS)
  if(HIA_HAS_PACKED_RELOCATIONS)
    target_link_options(${target} PRIVATE "LINKER:-z,pack-relative-relocs")
  endif()
endfunction()
