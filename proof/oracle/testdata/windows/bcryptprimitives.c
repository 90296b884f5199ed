// The function of bcryptprimitives.dll without which programs of Go do not start, and which Wine 8 does not have.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(void *, unsigned long);

__declspec(dllexport) BOOL WINAPI ProcessPrng(unsigned char *data, size_t size) { return SystemFunction036(data, size); }

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved) { return TRUE; }
