/* The image: the static graph flattened to one position-independent blob. The interpreter runs
 * images and nothing else; object files and other machines carry them.
 *
 * Written by graph/flatten.c, checked once by hiaR_image_load, described in docs/image.md. All
 * numbers are in the byte order of the machine that wrote it, which the header tells. */
#ifndef HIA_IMAGE_H
#define HIA_IMAGE_H

#include "runtime/base/base.h"

/* A position of the source; the same indices as the graph's table of locations. */
typedef struct hia_image_loc {
  uint32_t line, col;
  uint32_t fn;     /* offset of the source function's name among the strings */
  uint32_t parent; /* where that body was inlined, or HIA_NONE */
} hia_image_loc;

#endif
