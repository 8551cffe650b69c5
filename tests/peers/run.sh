#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Runs a script of this folder by the first Python that has NumPy; training.py by one that has PyTorch, too, if there is
# one. Without one it is skipped: exit status 77.
#
#   run.sh SCRIPT ARGUMENT...
if [ "$1" = training.py ]; then
  for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy, torch' 2>/dev/null && exec "$python" "$(dirname "$0")/$1" "${@:2}"
  done
fi
for python in python3 /usr/bin/python3; do
  "$python" -c 'import numpy' 2>/dev/null && exec "$python" "$(dirname "$0")/$1" "${@:2}"
done
echo 'skipped: no Python has NumPy (Debian: python3-numpy)'
exit 77
