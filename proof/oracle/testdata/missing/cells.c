// Indexes places on the globe by H3 and walks between them, so many times.
#include <stdio.h>
#include <stdlib.h>

#include "h3_h3api.h"

int main(int argc, char **argv) {
  long sum = 0;
  for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++) {
    LatLng at = {degsToRads(37.7 + i % 50), degsToRads(-122.4 + i)};
    H3Index cell, far, ring[37] = {0};
    int64_t distance = 0;
    CellBoundary edge;
    if (latLngToCell(&at, 7, &cell) || cellToBoundary(cell, &edge)) return 1;
    at.lat += 0.001;
    if (gridDisk(cell, 3, ring) || latLngToCell(&at, 7, &far)) return 1;
    gridDistance(cell, far, &distance);
    LinkedGeoPolygon shape;
    if (!cellsToLinkedMultiPolygon(ring, 37, &shape)) destroyLinkedMultiPolygon(&shape);
    sum += distance + edge.numVerts + isPentagon(cell);
  }
  printf("%ld\n", sum);
  return 0;
}
