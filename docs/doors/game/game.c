// A game loop of six hundred frames. Some of them are late: a level is read while it runs, and a thread writes a
// saved game below the lock that the frame needs. With SDL it draws, without it it only computes.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#ifdef WITH_SDL
#include <SDL.h>
#endif

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
static double body[2048];

static void physics(void) {
  for (int step = 0; step < 3; step++)
    for (int i = 1; i < 2047; i++) body[i] = (body[i - 1] + body[i + 1] + i) / 2.5;
}

static unsigned read_texture(int number) {
  char block[4096];
  unsigned sum = number;
  FILE *f = fopen("/dev/zero", "rb");
  for (int i = 0; f && i < 4000 && fread(block, 1, sizeof block, f) == sizeof block; i++)
    for (unsigned k = 0; k < sizeof block; k += 16) sum = sum * 31 + block[k];
  if (f) fclose(f);
  return sum;
}

static unsigned stream_level(int frame) {
  unsigned sum = 0;
  for (int i = 0; frame % 200 == 137 && i < 8; i++) sum += read_texture(i);
  return sum;
}

static void *save_game(void *unused) {
  pthread_mutex_lock(&state);
  usleep(60000); // a disk that is slow
  pthread_mutex_unlock(&state);
  return unused;
}

static void score(int frame) {
  pthread_mutex_lock(&state);
  body[0] += frame;
  pthread_mutex_unlock(&state);
}

static void draw(void *window) {
#ifdef WITH_SDL
  SDL_Surface *to = SDL_GetWindowSurface(window);
  if (to) SDL_FillRect(to, NULL, (unsigned)body[7]);
  SDL_UpdateWindowSurface(window);
#else
  (void)window;
  physics();
#endif
}

static void frame(int number, void *window) {
  if (number % 200 == 50) {
    pthread_t saver;
    if (pthread_create(&saver, NULL, save_game, NULL) == 0) pthread_detach(saver);
  }
  physics();
  stream_level(number);
  score(number);
  draw(window);
  usleep(500);
}

int main(void) {
  void *window = NULL;
#ifdef WITH_SDL
  SDL_Init(SDL_INIT_VIDEO);
  window = SDL_CreateWindow("game", 0, 0, 320, 200, 0);
#endif
  for (int i = 0; i < 600; i++) frame(i, window);
  printf("score %.0f\n", body[0]);
  return 0;
}
