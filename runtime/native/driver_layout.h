/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the assembly of arch/ sees of a hia_driver: asserted in freeze/drive.c. The assembler reads
 * this file as well. */
#ifndef HIA_DRIVER_LAYOUT_H
#define HIA_DRIVER_LAYOUT_H

#define HIA_DRIVER_CONTEXT 0
#define HIA_DRIVER_ENTRY   8
#define HIA_DRIVER_BLOCK   16
#define HIA_DRIVER_GOES_ON 24
#define HIA_DRIVER_THAWED  32
#define HIA_DRIVER_SIZE    192 /* a multiple of 16 */

#define HIA_FROZEN_SP 32 /* of a hia_frozen */

/* What hiaR_native_drive returns. */
#define HIA_DRIVE_END   0 /* all elements are there */
#define HIA_DRIVE_BEGIN 1 /* an iteration begins */
#define HIA_DRIVE_THAW  2 /* a frozen one goes on */
#define HIA_DRIVE_OTHER 3 /* this driver was frozen: an outer one goes on */

#endif
