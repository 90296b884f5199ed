int called_back(int);
int native_part(int n) { return called_back(n) + 5; }
