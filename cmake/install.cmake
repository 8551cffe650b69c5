# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# The rules of `cmake --install`: libraries, headers, the CMake package, files for pkg-config, the manual
# page, completions of shells. The installation can be moved: paths are relative to the file that holds them.
#
# Components: programs need hiaton_runtime to run, and hiaton_development to be built.
include(CMakePackageConfigHelpers)

set(hia_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hiaton)
set(hia_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

foreach(target hiaton_rt hiaton hiaton_rt_static hiaton_static)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
set_target_properties(hiaton_rt PROPERTIES EXPORT_NAME runtime)
set_target_properties(hiaton_rt_static PROPERTIES EXPORT_NAME runtime_static)

install(TARGETS hiaton_rt hiaton hiaton_rt_static hiaton_static hiaton_program EXPORT hiatonTargets
  RUNTIME COMPONENT hiaton_runtime
  LIBRARY COMPONENT hiaton_runtime NAMELINK_COMPONENT hiaton_development
  ARCHIVE COMPONENT hiaton_development)
set_target_properties(hiaton_program PROPERTIES EXPORT_NAME program)
install(EXPORT hiatonTargets NAMESPACE hiaton:: DESTINATION ${hia_cmake_dir}
  COMPONENT hiaton_development)
if(hia_plugin)
  # In the folder of libhiaton, which opens it. No program links to it, so -lhiaton_llvm is the archive.
  install(TARGETS ${hia_plugin} LIBRARY COMPONENT hiaton_runtime NAMELINK_SKIP)
endif()
if(HIA_LLVM)
  # A file of its own, because it needs LLVM's CMake package.
  set_target_properties(hiaton_llvm_static PROPERTIES EXPORT_NAME llvm_static)
  install(TARGETS hiaton_llvm_static EXPORT hiatonLLVMTargets
    ARCHIVE COMPONENT hiaton_development)
  install(EXPORT hiatonLLVMTargets NAMESPACE hiaton:: DESTINATION ${hia_cmake_dir}
    COMPONENT hiaton_development)
endif()

install(DIRECTORY include/hiaton DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT hiaton_development FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.def")

# Licence, pages and examples have the same relative places in share/doc/hiaton as in the tree, and
# include/hiaton is a link there, so that links between them are valid.
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT hiaton_runtime)
install(FILES README.md CHANGES.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT hiaton_development)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT hiaton_development PATTERN build EXCLUDE PATTERN "*.o" EXCLUDE)
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_DOCDIR})
  set(hia_headers ${CMAKE_INSTALL_FULL_INCLUDEDIR}/hiaton)
else()
  file(RELATIVE_PATH hia_headers /${CMAKE_INSTALL_DOCDIR}/include /${CMAKE_INSTALL_INCLUDEDIR}/hiaton)
endif()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/package/include)
file(CREATE_LINK ${hia_headers} ${PROJECT_BINARY_DIR}/package/include/hiaton SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/package/include/hiaton DESTINATION ${CMAKE_INSTALL_DOCDIR}/include
  COMPONENT hiaton_development)
# For hosts under ThreadSanitizer (docs/embedding.md).
install(FILES cmake/package/tsan.supp DESTINATION ${CMAKE_INSTALL_DATADIR}/hiaton
  COMPONENT hiaton_development)

# ---- the CMake package ----

configure_package_config_file(cmake/package/hiatonConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/hiatonConfig.cmake INSTALL_DESTINATION ${hia_cmake_dir}
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/hiatonConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/hiatonConfig.cmake
  ${PROJECT_BINARY_DIR}/package/hiatonConfigVersion.cmake cmake/package/hiatonAddObject.cmake
  DESTINATION ${hia_cmake_dir} COMPONENT hiaton_development)

# ---- pkg-config ----

# From the folder of the .pc files to the prefix, and folders below that, unless they were set to
# absolute paths.
file(RELATIVE_PATH hia_pc_prefix ${CMAKE_INSTALL_PREFIX}/${hia_pkgconfig_dir} ${CMAKE_INSTALL_PREFIX})
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(hia_pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  string(REGEX REPLACE "/$" "" hia_pc_prefix "\${pcfiledir}/${hia_pc_prefix}")
endif()
foreach(dir LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${dir}})
    set(hia_pc_${dir} ${CMAKE_INSTALL_${dir}})
  else()
    set(hia_pc_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
# -l for each name, for programs that link the archives.
list(TRANSFORM hia_rt_libraries PREPEND -l OUTPUT_VARIABLE hia_pc_rt_libraries)
# Only programs with an image that calls the host need libffi, and one word keeps its order.
list(APPEND hia_pc_rt_libraries -Wl,--push-state,--as-needed,-lffi,--pop-state)
list(JOIN hia_pc_rt_libraries " " hia_pc_rt_libraries)
set(hia_pc_hiaton_libraries "")
foreach(library IN LISTS CMAKE_DL_LIBS)
  string(APPEND hia_pc_hiaton_libraries " -l${library}")
endforeach()
set(hia_pc_files hiaton_rt hiaton)
if(HIA_LLVM)
  list(APPEND hia_pc_files hiaton_llvm)
  if(LLVM_LINK_LLVM_DYLIB)
    set(hia_pc_llvm_libraries "-L${LLVM_LIBRARY_DIR} -lLLVM-${LLVM_VERSION_MAJOR}")
  else()
    list(TRANSFORM llvm_libraries PREPEND -l OUTPUT_VARIABLE hia_pc_llvm_libraries)
    list(JOIN hia_pc_llvm_libraries " " hia_pc_llvm_libraries)
    set(hia_pc_llvm_libraries "-L${LLVM_LIBRARY_DIR} ${hia_pc_llvm_libraries} -lstdc++")
  endif()
endif()
foreach(name IN LISTS hia_pc_files)
  configure_file(cmake/package/${name}.pc.in ${PROJECT_BINARY_DIR}/package/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${name}.pc DESTINATION ${hia_pkgconfig_dir}
    COMPONENT hiaton_development)
endforeach()

# ---- the manual page ----

# Its options are the output of --help, so the program is run to make it.
set(hia_man ${PROJECT_BINARY_DIR}/package/hiaton.1)
add_custom_command(OUTPUT ${hia_man}
  COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/package/man.sh $<TARGET_FILE:hiaton_program>
          ${PROJECT_SOURCE_DIR}/cmake/package/hiaton.1.in ${hia_man}
  DEPENDS hiaton_program cmake/package/man.sh cmake/package/hiaton.1.in
  COMMENT "Writing the manual page" VERBATIM)
add_custom_target(man ALL DEPENDS ${hia_man})
install(FILES ${hia_man} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT hiaton_runtime)

# ---- completions of shells ----

# In the folders and under the names that bash and zsh search. The program prints them.
foreach(shell bash zsh)
  set(hia_completion ${PROJECT_BINARY_DIR}/package/completion.${shell})
  add_custom_command(OUTPUT ${hia_completion}
    COMMAND hiaton_program completion ${shell} > ${hia_completion}
    DEPENDS hiaton_program COMMENT "Writing the completion of ${shell}" VERBATIM)
  list(APPEND hia_completions ${hia_completion})
endforeach()
add_custom_target(completions ALL DEPENDS ${hia_completions})
install(FILES ${PROJECT_BINARY_DIR}/package/completion.bash RENAME hiaton
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT hiaton_runtime)
install(FILES ${PROJECT_BINARY_DIR}/package/completion.zsh RENAME _hiaton
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT hiaton_runtime)

# All that is installed and nothing else, for `./dev install`.
add_custom_target(installable DEPENDS hiaton_rt hiaton hiaton_rt_static hiaton_static hiaton_program
  man completions ${hia_plugin} $<$<BOOL:${HIA_LLVM}>:hiaton_llvm_static>)
