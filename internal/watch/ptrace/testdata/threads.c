/* Eight threads execute the same functions for the first time at once. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define F(n) __attribute__((noinline, noclone)) static int f##n(int x) { static volatile int s; s = x; return x + n; }
#define TEN(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define CALL(n) sum += f##n(sum);
#define CALLS(n) CALL(n##0) CALL(n##1) CALL(n##2) CALL(n##3) CALL(n##4) CALL(n##5) CALL(n##6) CALL(n##7) CALL(n##8) CALL(n##9)
TEN(1) TEN(2) TEN(3) TEN(4) TEN(5)

static atomic_int ready;

static void *work(void *arg) {
	int sum = 0;
	ready++;
	while (ready < 8) {
	}
	CALLS(1) CALLS(2) CALLS(3) CALLS(4) CALLS(5)
	*(int *)arg = sum;
	return 0;
}

int main(void) {
	pthread_t t[8];
	int sums[8];
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], 0, work, &sums[i]);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], 0);
	for (int i = 1; i < 8; i++)
		if (sums[i] != sums[0])
			return 1;
	printf("%d\n", sums[0]);
	return 0;
}
