#include "level.h"

void enter_area(unsigned frame) {
  for (unsigned area = 0; area < 4; area++)
    if (frame == 120 && area == 2) decode_chunk();
}
