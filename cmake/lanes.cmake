# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# The elementary functions in vectors (bench/lanes.h), for tests and benchmarks. They are compiled for machines
# that have the instructions, and called on those only.
set(hia_lanes ${PROJECT_SOURCE_DIR}/bench/lanes_256.c ${PROJECT_SOURCE_DIR}/bench/lanes_512.c)
set_source_files_properties(${PROJECT_SOURCE_DIR}/bench/lanes_256.c PROPERTIES COMPILE_OPTIONS
  "-mavx2;-mfma;-O2")
set_source_files_properties(${PROJECT_SOURCE_DIR}/bench/lanes_512.c PROPERTIES COMPILE_OPTIONS
  "-mavx512f;-mavx512dq;-mavx512vl;-mfma;-mprefer-vector-width=512;-O2")
