// Threads that call, throw, jump and recurse, and count every call under its
// callers on their own. The functions whose names begin with w_ are those that the
// test has probes in; what they count with has none. Each says in which stack it
// is, so that what exceptions and longjmp leave is known here as well.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static thread_local std::string path;
static thread_local std::map<std::string, long> counts;
static std::map<std::string, long> all;
static std::mutex lock;

struct Scope {
	size_t before;
	explicit Scope(const char *name) : before(path.size())
	{
		if (before) path += ';';
		path += name;
		counts[path]++;
	}
	~Scope() { path.resize(before); }
};
#define W __attribute__((noinline))
#define SCOPE Scope scope(__func__)

static volatile int zero;
static thread_local unsigned seed = 1;
static unsigned next(unsigned n) { return (seed = seed * 1103515245u + 12345u) >> 16 & 0x7fff ? (seed >> 16) % n : 0; }

extern "C" {
W int w_leaf(int x) { SCOPE; return x + zero; }
W int w_other(int x) { SCOPE; return w_leaf(x) + 1; }
W int w_variadic(int n, ...) { SCOPE; return w_leaf(n); }
W int w_cleanup(int x) { SCOPE; return w_leaf(x); }
}
struct Cleanup {
	~Cleanup() { w_cleanup(1); }
};
extern "C" {
W void w_throw(int depth)
{
	SCOPE;
	Cleanup c;
	if (depth > 0) w_throw(depth - 1);
	else throw depth;
	w_leaf(2);
}
W int w_rethrow(int depth)
{
	SCOPE;
	try {
		w_throw(depth);
	} catch (int x) {
		w_other(x);
		if (next(2)) throw;
		return w_leaf(x);
	}
	return 0;
}
W int w_catch(int depth)
{
	SCOPE;
	int sum = 0;
	try {
		sum += w_rethrow(depth);
	} catch (int x) {
		sum += w_leaf(x);
	}
	return sum + w_leaf(3);
}
static thread_local jmp_buf to;
W void w_jump(int depth)
{
	SCOPE;
	if (depth > 0) w_jump(depth - 1);
	else longjmp(to, 1);
	w_leaf(4);
}
W int w_set(int depth)
{
	SCOPE;
	std::string saved = path;
	if (setjmp(to) == 0) w_jump(depth);
	path = saved; // no destructor ran
	return w_leaf(5);
}
W int w_deep(int n) { SCOPE; return n ? w_deep(n - 1) + w_leaf(n) : w_variadic(2, 1.0, 2); }
W int w_child(void) { SCOPE; return w_other(7); }
W void w_work(int rounds)
{
	SCOPE;
	for (int i = 0; i < rounds; i++) {
		switch (next(6)) {
		case 0: w_catch((int)next(20)); break;
		case 1: w_set((int)next(20)); break;
		case 2: w_deep((int)next(50)); break;
		default: w_other(i);
		}
	}
}
W int w_main(int threads, int rounds)
{
	SCOPE;
	w_work(rounds);
	(void)threads;
	return 0;
}
}
static void merge()
{
	std::lock_guard<std::mutex> hold(lock);
	for (auto &c : counts) all[c.first] += c.second;
	counts.clear();
}
int main(int argc, char **argv)
{
	int threads = atoi(argv[1]), rounds = atoi(argv[2]);
	std::vector<std::thread> list;
	for (int i = 0; i < threads; i++)
		list.emplace_back([i, rounds] {
			seed = (unsigned)i + 2;
			w_work(rounds);
			merge();
		});
	w_main(threads, rounds);
	for (auto &t : list) t.join();
	if (argc > 3) { // a child counts for itself alone
		pid_t pid = fork();
		if (!pid) {
			counts.clear();
			all.clear();
			w_child();
			merge();
			exit(0);
		}
		waitpid(pid, nullptr, 0);
	}
	merge();
	for (auto &c : all) printf("%s %ld\n", c.first.c_str(), c.second);
	return 0;
}
