// Opens a pipe and asks for nothing. It prints who may do what with it, as a text in which U stands for this user.
#include <aclapi.h>
#include <sddl.h>
#include <stdio.h>
#include <windows.h>

int main(int argc, char **argv) {
  HANDLE pipe = INVALID_HANDLE_VALUE, token;
  for (int i = 0; argc == 2 && i < 1000 && pipe == INVALID_HANDLE_VALUE; i++, Sleep(10))
    pipe = CreateFileA(argv[1], GENERIC_READ | GENERIC_WRITE, 0, 0, OPEN_EXISTING, 0, 0);
  if (pipe == INVALID_HANDLE_VALUE) return 1;
  PSECURITY_DESCRIPTOR d;
  PACL list;
  BYTE user[128];
  DWORD size;
  if (GetSecurityInfo(pipe, SE_KERNEL_OBJECT, DACL_SECURITY_INFORMATION, 0, 0, &list, 0, &d)) return 2;
  if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token) || !GetTokenInformation(token, TokenUser, user, sizeof user, &size)) return 3;
  printf("%d", list ? list->AceCount : -1);
  for (int i = 0; list && i < list->AceCount; i++) {
    ACCESS_ALLOWED_ACE *ace;
    if (!GetAce(list, i, (void **)&ace)) return 4;
    printf(" %d %lx %s", ace->Header.AceType, ace->Mask, EqualSid(&ace->SidStart, ((TOKEN_USER *)user)->User.Sid) ? "U" : "other");
  }
  SECURITY_DESCRIPTOR_CONTROL control;
  DWORD revision;
  printf(" %d\n", GetSecurityDescriptorControl(d, &control, &revision) && control & SE_DACL_PROTECTED);
  fflush(stdout);
  getchar();
  return 0;
}
