int never_linked(int n) { return n; }
