// Jump tables: in a loop, two in a function, with large cases, and as the test of another.
extern "C" int outside(int);

int steps(const unsigned char *code, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    switch (code[i]) {
    case 0: sum += outside(i); break;
    case 1: sum *= 3; break;
    case 2: if (sum > 7) return outside(sum); sum ^= i; break;
    case 3: sum -= outside(2); break;
    case 4: sum <<= 1; // fall through
    case 5: sum |= i; break;
    case 6: i += outside(sum) != 0; break;
    case 7: return sum;
    case 8: sum = outside(3) / (sum | 1); break;
    case 10: sum += 77; break;
    case 11: outside(11); break;
    case 12: sum = outside(sum - 1); break;
    case 13: sum = i / 3; break;
    case 14: if (i & 1) sum++; break;
    case 15: outside(15); outside(16); break;
    case 16: sum--; break;
    case 17: return outside(17);
    case 18: sum += sum / 9; break;
    case 19: sum = ~sum; break;
    default: outside(-1);
    }
  return sum;
}

int two(int a, int b) {
  int out = 0;
  switch (a) {
  case 0: out = outside(1); break;
  case 1: out = b * 5; break;
  case 2: outside(b); out = 9; break;
  case 3: while (b-- > 0) out += outside(b); break;
  case 4: return outside(44);
  case 5: out = a ^ b; if (b & 4) outside(4); break;
  case 6: out = outside(b + 1) + 1; break;
  case 7: outside(7); outside(8); break;
  }
  switch (b) {
  case 10: return outside(out);
  case 11: outside(11); return out;
  case 12: return out * 12;
  case 13: if (out) outside(13); return 1;
  case 14: return outside(14) + outside(15);
  case 15: return a;
  case 16: outside(16); break;
  case 17: return -out;
  }
  return out;
}

#define TEN(n) sum = outside(sum + n) ^ sum; sum = outside(sum - n) + 3; sum = outside(sum * n) - sum;
#define HUNDRED(n) TEN(n) TEN(n + 1) TEN(n + 2) TEN(n + 3) TEN(n + 4) TEN(n + 5) TEN(n + 6) TEN(n + 7)

int large(int a) {
  int sum = a;
  switch (a) {
  case 0: HUNDRED(1) break;
  case 1: HUNDRED(11) break;
  case 2: HUNDRED(21) return sum;
  case 3: HUNDRED(31) break;
  case 4: HUNDRED(41) break;
  case 5: HUNDRED(51) // fall through
  case 6: HUNDRED(61) break;
  case 7: HUNDRED(71) break;
  }
  return outside(sum);
}
