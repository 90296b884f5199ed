#ifndef CTYPE_H
#define CTYPE_H
int isalpha(int), isdigit(int), isspace(int), isalnum(int), isupper(int), islower(int), isxdigit(int), isprint(int), iscntrl(int), ispunct(int), tolower(int), toupper(int);
#endif
