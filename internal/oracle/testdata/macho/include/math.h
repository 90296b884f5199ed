#ifndef MATH_H
#define MATH_H
#define HUGE_VAL __builtin_huge_val()
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
double floor(double), ceil(double), fabs(double), pow(double, double), sqrt(double), fmod(double, double);
#endif
