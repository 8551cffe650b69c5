# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Counts what passes and what fails, for scripts that include this file.
passed=0 failed=0

verdict() { # WHAT OK GOT
  if [ "$2" = yes ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\ngot:\n%s\n' "$1" "$3"
  fi
}
has() { # WHAT PATTERN TEXT
  grep -qE -- "$2" <<< "$3" && verdict "$1" yes || verdict "$1: $2" no "$3"
}
