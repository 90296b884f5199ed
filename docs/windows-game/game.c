/* The frame loop of a game for Windows, without its window: 60 frames a second are drawn into memory, and a thread mixes
 * sound. In one frame the player enters a part of the level that has not been decoded yet. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
#include "level.h"

enum { WIDTH = 320, HEIGHT = 180, SPRITES = 200, FRAMES = 240 };

static unsigned screen[WIDTH * HEIGHT];
static short sound[4096];
static volatile LONG ends;

static void mix_sound(unsigned t) {
  for (unsigned i = 0; i < 4096; i++) sound[i] = (short)(i * t >> 3);
}

static DWORD WINAPI play(void *unused) {
  for (unsigned t = 0; !ends; t++) {
    mix_sound(t);
    Sleep(10);
  }
  return 0;
}

static void move_sprites(unsigned frame, unsigned *x, unsigned *y) {
  for (unsigned i = 0; i < SPRITES; i++) {
    x[i] = (i * 37 + frame * (i % 5)) % (WIDTH - 8);
    y[i] = (i * 53 + frame * (i % 3)) % (HEIGHT - 8);
  }
}

static void draw_sprite(unsigned x, unsigned y, unsigned color) {
  for (unsigned i = 0; i < 64; i++) screen[(y + i / 8) * WIDTH + x + i % 8] = color;
}

static void draw(const unsigned *x, const unsigned *y) {
  for (unsigned i = 0; i < WIDTH * HEIGHT; i++) screen[i] = 0;
  for (unsigned i = 0; i < SPRITES; i++) draw_sprite(x[i], y[i], i);
}

static void update(unsigned frame, unsigned *x, unsigned *y) {
  move_sprites(frame, x, y);
  enter_area(frame);
}

static void frame_of(unsigned frame) {
  static unsigned x[SPRITES], y[SPRITES];
  update(frame, x, y);
  draw(x, y);
}

int main(void) {
  HANDLE thread = CreateThread(0, 0, play, 0, 0, 0);
  double worst = 0, next = milliseconds();
  for (unsigned frame = 0; frame < FRAMES; frame++) {
    double begin = milliseconds();
    frame_of(frame);
    double took = milliseconds() - begin;
    if (took > worst) worst = took;
    next += 1000.0 / 60;
    while (milliseconds() < next) Sleep(1);
  }
  ends = 1;
  WaitForSingleObject(thread, INFINITE);
  printf("%d frames, the longest took %.0f ms\n", FRAMES, worst);
  return 0;
}
