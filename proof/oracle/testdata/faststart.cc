// Uses the C++ library for what two copies of it in a process could disagree about: exceptions, types, streams and locales.
#include <any>
#include <functional>
#include <iostream>
#include <locale>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

static void check(const std::string &word) {
  if (word == "throw") throw Wrong("thrown");
  if (word == "uncaught") {
    std::cout << "leaving" << std::endl;
    throw std::out_of_range("uncaught");
  }
}

int main(int argc, char **argv) {
  std::map<std::string, int> seen;
  for (int i = 1; i < argc; i++) {
    try {
      check(argv[i]);
    } catch (const Wrong &e) {
      std::cout << "caught " << e.what() << "\n";
    }
    seen[argv[i]]++;
  }
  if (seen.count("locale")) std::locale::global(std::locale("C"));
  std::vector<std::thread> threads;
  int sums[4] = {};
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&sums, i] {
      try {
        for (int k = 0; k < 100; k++) sums[i] += k;
        throw i;
      } catch (int n) {
        sums[n]++;
      }
    });
  for (auto &t : threads) t.join();
  std::any value = seen.size();
  std::ostringstream text;
  text << std::any_cast<size_t>(value) << " words, " << sums[0] + sums[3];
  std::function<void()> print = [&] { std::cout << text.str() << "\n"; };
  print();
  for (auto &[word, count] : seen) std::cout << word << " " << count << "\n";
  return seen.empty();
}
