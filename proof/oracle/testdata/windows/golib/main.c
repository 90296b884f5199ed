#include <windows.h>
#include <stdio.h>

int main(void)
{
	HMODULE lib = LoadLibraryA("lib.dll");
	void (*once)(void) = (void (*)(void))GetProcAddress(lib, "Once");
	int (*often)(int) = (int (*)(int))GetProcAddress(lib, "Often");
	if (!lib || !once || !often)
		return 1;
	once();
	printf("%d\n", often(10));
	return 0;
}
