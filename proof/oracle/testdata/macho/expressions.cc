// Runs the tests of muParser, most of which throw.
#include "muParserTest.h"

int main() {
  mu::Test::ParserTester tester;
  tester.Run();
  return 0;
}
