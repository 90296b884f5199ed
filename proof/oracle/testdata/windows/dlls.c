__declspec(dllimport) int used(int);

int main(void) {
  int sum = used(0) + used(2) + used(4);
  *(volatile int *)(long long)sum = 1;
  return sum;
}
