// Makes calls that it is asked for: of each line of its input, one that takes as many milliseconds as the line says, or until the next
// line comes.
#include <cairn.h>
#include <stdio.h>
#include <windows.h>

CAIRN_CHANNEL(net);

__attribute__((noinline)) static int asked(int ms) {
  char line[64];
  CAIRN_SECTION_IF(cairn_channel(net), "net") {
    if (ms >= 0) Sleep(ms);
    else if (!fgets(line, sizeof line, stdin)) return 0;
  }
  return 1;
}

int main(void) {
  char line[64];
  int ms;
  while (fgets(line, sizeof line, stdin) && sscanf(line, "%d", &ms) == 1) {
    printf("%d\n", asked(ms));
    fflush(stdout);
  }
  return 9;
}
