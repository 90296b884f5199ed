// A dense switch with calls, which AArch64 does by a compressed table, and branches on bits.
int f(int), g(int);
int table(int x, int y)
{
	switch (x) {
	case 0: return f(y) + 1;
	case 1: y += g(y); break;
	case 2: return f(y ^ 3) * y;
	case 3: if (y & 8) y = f(y) - g(y); break;
	case 4: while (y & 64) y = g(y); break;
	case 5: return g(g(y)) - 5;
	case 6: y = f(y) / 3; break;
	case 7: return f(f(y) + 2);
	case 8: if (y & 16) return g(y - 8); break;
	case 9: return f(y) * 9;
	case 10: y += g(y + 10); break;
	case 11: if (y & 16) return g(y - 11); break;
	case 12: return f(y) * 12;
	case 13: y += g(y + 13); break;
	case 14: if (y & 16) return g(y - 14); break;
	case 15: return f(y) * 15;
	case 16: y += g(y + 16); break;
	case 17: if (y & 16) return g(y - 17); break;
	case 18: return f(y) * 18;
	case 19: y += g(y + 19); break;
	case 20: if (y & 16) return g(y - 20); break;
	case 21: return f(y) * 21;
	}
	if (y & 4)
		y = f(y) + g(y + 1);
	return y ? y - f(9) : g(2);
}
