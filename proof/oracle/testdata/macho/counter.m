// Methods of Objective-C: of a class, of its objects, and inherited ones.
#include <stdio.h>
#include <stdlib.h>

__attribute__((objc_root_class))
@interface Counter {
  Class isa;
@public
  int n;
}
+ (Counter *)make;
- (int)add:(int)k;
- (int)twice:(int)k plus:(int)more;
- (int)never;
@end

@implementation Counter
+ (Counter *)make {
  Counter *c = calloc(1, sizeof(struct { Class isa; int n; }));
  *(Class *)c = self;
  return c;
}
- (int)add:(int)k { return n += k; }
- (int)twice:(int)k plus:(int)more { return [self add:2 * k] + more; }
- (int)never { return -n; }
@end

@interface Louder : Counter
@end

@implementation Louder
- (int)add:(int)k { return n += 10 * k; }
@end

__attribute__((noinline)) static int helper(Counter *c) {
  int sum = 0;
  for (int i = 0; i < 7; i++) sum += [c twice:i plus:1];
  return sum;
}

int main(int argc, char **argv) {
  printf("%d\n", helper([Counter make]));
  printf("%d\n", helper([Louder make]));
  return argc > 5 ? [[Counter make] never] : 0;
}
