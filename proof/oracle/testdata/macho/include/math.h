#ifndef MATH_H
#define MATH_H
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_huge_val()
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
float fabsf(float), floorf(float), sqrtf(float);
double ldexp(double, int), frexp(double, int *), modf(double, double *), log(double), exp(double), sin(double), cos(double), tan(double), atan(double), atan2(double, double), log10(double);
double floor(double), ceil(double), fabs(double), pow(double, double), sqrt(double), fmod(double, double);
#endif
