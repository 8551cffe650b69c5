/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The words and messages of statuses (hiaton/status.def). */
#include "runtime/base/base.h"

const char *hiaR_status_word(hia_status status) {
  switch (status) {
#define HIA_STATUS(number, NAME, word, message)                                                    \
  case HIA_##NAME: return word;
#include <hiaton/status.def>
  }
  return "unknown";
}

const char *hiaR_status_message(hia_status status) {
  switch (status) {
#define HIA_STATUS(number, NAME, word, message)                                                    \
  case HIA_##NAME: return message;
#include <hiaton/status.def>
  }
  return "unknown status";
}
