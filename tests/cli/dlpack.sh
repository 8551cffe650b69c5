#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# hiaton/dlpack.h with and without a <dlpack/dlpack.h>, of before DLPack 1.0 and of 1.0, which a host may include before
# it and behind it: as C, and as C++ if there is a compiler.
#
#   dlpack.sh INCLUDE-DIR CC [CXX]
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/old/dlpack" "$work/new/dlpack"
cat >"$work/old/dlpack/dlpack.h" <<'END'
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLCPU = 1, kDLCUDA = 2, kDLTheirs = 99 } DLDeviceType;
typedef struct { DLDeviceType device_type; int32_t device_id; } DLDevice;
typedef enum { kDLInt = 0U, kDLUInt = 1U, kDLFloat = 2U, kDLBool = 6U } DLDataTypeCode;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void *data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape, *strides; uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
  DLTensor dl_tensor; void *manager_ctx; void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
/* more */
#ifdef __cplusplus
}
#endif
#endif
END
sed 's|^/\* more \*/|#define DLPACK_MAJOR_VERSION 1\
#define DLPACK_MINOR_VERSION 0\
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)\
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)\
typedef struct { uint32_t major, minor; } DLPackVersion;\
struct DLManagedTensorVersioned {\
  DLPackVersion version; void *manager_ctx; void (*deleter)(struct DLManagedTensorVersioned *self);\
  uint64_t flags; DLTensor dl_tensor;\
};|' "$work/old/dlpack/dlpack.h" >"$work/new/dlpack/dlpack.h"
cat >"$work/use.c" <<'END'
int main(void) {
  struct DLManagedTensorVersioned tensor;
  hia_value *value;
  tensor.version.major = DLPACK_MAJOR_VERSION;
  tensor.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  tensor.dl_tensor.device.device_type = kDLCPU;
  tensor.dl_tensor.dtype.code = kDLBool;
#ifdef THEIRS
  tensor.dl_tensor.device.device_type = kDLTheirs;
#endif
  return hia_data_from_dlpack(NULL, NULL, &tensor, &value, NULL);
}
END
ours='#include <hiaton/dlpack.h>' theirs='#include <dlpack/dlpack.h>' failed=0
include=$1 cc=$2 cxx=${3:-}
check() { # TITLE FLAGS LINE...
  what=$1 flags=$2
  shift 2
  printf '%s\n' "$@" >"$work/head"
  local source
  source=$(cat "$work/head" "$work/use.c")
  $cc -std=c11 -x c -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$include" $flags - <<<"$source" ||
    { echo "FAILED: C, $what"; failed=1; }
  [ -z "$cxx" ] && return
  $cxx -std=c++11 -x c++ -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$include" $flags - <<<"$source" ||
    { echo "FAILED: C++, $what"; failed=1; }
}
check 'alone' '' "$ours"
check 'with hiaton.h' '' '#include <hiaton/hiaton.h>' "$ours"
for version in old new; do
  flags="-isystem $work/$version -DTHEIRS"
  check "a header that is $version, found" "$flags" "$ours"
  check "a header that is $version, before" "$flags" "$theirs" "$ours"
  check "a header that is $version, behind" "$flags" "$ours" "$theirs"
done
exit $failed
